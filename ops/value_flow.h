// What becomes of a value in the ops that read it.

#ifndef FIXPOINT_OPS_VALUE_FLOW_H_
#define FIXPOINT_OPS_VALUE_FLOW_H_

#include <functional>

#include "ops/era.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Whether an op only moves the values of its inputs X to other places in its outputs Out, and
// computes none: reshape, transpose, concat, split, maxima.
bool MovesValues(const Op& op, Era era);

// Whether whoever runs the program needs a value, apart from the ops that read it.
using IsKept = std::function<bool(const Value& value)>;

// Whether nothing but ops that quantize with a given range read a value, directly or after ops that
// only move it, and none of those values is kept; without `is_kept` only the program's ops count as
// readers. A NaN gets the code of 0 there. False where more moves follow than are looked at.
bool BecomesCodes(const Value& value, Era era, const IsKept& is_kept = nullptr);

// The same for an output of an op; false if its variable is written more than once or kept from run
// to run.
bool BecomesCodes(const Argument& output, Era era, const IsKept& is_kept = nullptr);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_VALUE_FLOW_H_
