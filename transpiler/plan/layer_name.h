// What a layer is called: the unit that people, and the configurations of other tools, name.

#ifndef FIXPOINT_TRANSPILER_PLAN_LAYER_NAME_H_
#define FIXPOINT_TRANSPILER_PLAN_LAYER_NAME_H_

#include <functional>
#include <string>

#include "proto/program/program_fwd.h"
#include "transpiler/plan/parameters.h"

namespace fixpoint {

// The layer that an op belongs to: the name of the first parameter that it reads, up to the last
// dot ("conv2d_0" of "conv2d_0.w_0", "features.0.conv" of "features.0.conv.weight"); for an op
// without parameters, that of its first output ("relu_0" of "relu_0.tmp_0"). A name without a dot
// is taken whole. "" for an op without either.
std::string LayerName(const Op& op, Parameters& parameters);
// The same of a program in which more than OriginalOf knows was made of a parameter. `original`: the
// value that the program had before.
std::string LayerName(const Op& op, Parameters& parameters,
                      const std::function<const Value&(const Value&)>& original);

// The value that quantize and dequantize ops round to give this one; without such ops, itself.
const Value& OriginalOf(const Value& value);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_LAYER_NAME_H_
