// What becomes of a value in the ops that read it.

#ifndef FIXPOINT_OPS_VALUE_FLOW_H_
#define FIXPOINT_OPS_VALUE_FLOW_H_

#include <functional>

#include "ops/era.h"
#include "proto/program_fwd.h"

namespace fixpoint {

// Whether an op gives values of its inputs X in other places, as each Out, and makes none: reshape,
// transpose, concat, split, maxima.
bool MovesValues(const Op& op, Era era);

// Whether a value is wanted by who runs the program, beside the ops that read it.
using IsKept = std::function<bool(const Value& value)>;

// Whether nothing reads a value but steps to codes at ranges that are given, also after ops that
// move it, and none of those values is kept; without `is_kept` the program's ops are all that
// reads. A NaN has the code of 0 there. False where more ops that move follow than are looked at.
bool BecomesCodes(const Value& value, Era era, const IsKept& is_kept = nullptr);

// The same of what an op writes that is written once and is not kept from run to run.
bool BecomesCodes(const Argument& output, Era era, const IsKept& is_kept = nullptr);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_VALUE_FLOW_H_
