// What becomes of a value in the ops that read it.

#ifndef FIXPOINT_OPS_VALUE_FLOW_H_
#define FIXPOINT_OPS_VALUE_FLOW_H_

#include <functional>

#include "ops/era.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Whether an op only moves the values of a slot (OpTraits::moved) to other places in its outputs
// Out, and computes none: reshape, transpose, concat, split, slice, maxima.
bool MovesValues(const Op& op, Era era);

// Whether such an op gives each element of one input once, in another order or shape. It may repeat
// or drop some where the program does not declare all sizes.
bool ReordersValues(const Op& op, Era era);

// Whether whoever runs the program needs a value, apart from the ops that read it.
using IsKept = std::function<bool(const Value& value)>;

// Whether nothing but ops that quantize with a given range read a value, directly or after ops that
// only move it, and none of those values is kept; without `is_kept` only the program's ops count as
// readers. A NaN gets the code of 0 there. False where more moves follow than are looked at.
// `also`: what else may read it.
using IsReader = std::function<bool(const Argument& reader)>;
bool BecomesCodes(const Value& value, Era era, const IsKept& is_kept = nullptr,
                  const IsReader& also = nullptr);

// The same for an output of an op; false if its variable is written more than once or kept from run
// to run.
bool BecomesCodes(const Argument& output, Era era, const IsKept& is_kept = nullptr);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_VALUE_FLOW_H_
