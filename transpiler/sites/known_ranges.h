// Whether the ranges that a program is to be frozen with were ever found: by training, or from a
// profile.

#ifndef FIXPOINT_TRANSPILER_SITES_KNOWN_RANGES_H_
#define FIXPOINT_TRANSPILER_SITES_KNOWN_RANGES_H_

#include "absl/status/status.h"
#include "ops/quantizer_table.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"

namespace fixpoint {

// Error (kFailedPrecondition): quantizers that keep a range still have its initial value, and none
// of their counters shows that they saw a tensor; their codes would be random. A range that
// training would move from a number of the quantizer's own is known. Names the scales. A scale that
// the scope lacks is not judged.
absl::Status CheckRangesAreKnown(const Program& program, const Scope& scope,
                                 const QuantizerTable& quantizers);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_SITES_KNOWN_RANGES_H_
