// By what constants (constants.h) are known to be equal before they are computed.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_RECIPES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_RECIPES_H_

#include <string>
#include <vector>

#include "runtime/executor/plan.h"

namespace fixpoint::executor {

// For each buffer, how the constant steps compute it from parameters: buffers of equal recipes have
// equal bytes in all plans on the same parameters. "": a step on the way has no name
// (named_function.h).
std::vector<std::string> RecipesOf(const Plan& plan);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_RECIPES_H_
