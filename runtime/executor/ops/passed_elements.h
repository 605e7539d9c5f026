// What the gradient of a relu reads where nothing else of the backward pass reads the relu's
// result: a byte for each element, so that the floats need not be held until then.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PASSED_ELEMENTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PASSED_ELEMENTS_H_

#include <optional>

#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// Attached to the result of a relu.
struct PassedElements {
  Buffer passed;  // UINT8: whether the relu passes the element
  Layout layout;
};

// Memory for them, which the step that computes the relu's result has to fill; nothing: a gradient
// op reads more of it, or none reads it.
std::optional<Buffer> AddPassedElements(OpPlanner& op, const Op& relu, const TensorType& type,
                                        Layout layout);

// The passed elements of an input, in a layout; nothing: there are none.
std::optional<Buffer> FindPassedElements(OpPlanner& op, absl::string_view slot, Layout layout);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PASSED_ELEMENTS_H_
