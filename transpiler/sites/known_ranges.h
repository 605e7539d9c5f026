// Whether the ranges that a program is to be frozen with were ever found: by training, or from a
// profile.

#ifndef FIXPOINT_TRANSPILER_SITES_KNOWN_RANGES_H_
#define FIXPOINT_TRANSPILER_SITES_KNOWN_RANGES_H_

#include "absl/status/status.h"
#include "ops/quantizer_table.h"
#include "proto/program.h"
#include "runtime/scope.h"

namespace fixpoint {

// Error (kFailedPrecondition): quantizers that keep a range still have the one that they begin
// with, and nothing that they count says that they saw a tensor. What they quantize would have
// codes at random. Names the scales. A scale that the scope lacks is not judged.
absl::Status CheckRangesAreKnown(const Program& program, const Scope& scope,
                                 const QuantizerTable& quantizers);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_SITES_KNOWN_RANGES_H_
