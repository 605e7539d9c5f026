// Inputs that, where an op has them, take the place of one of its attributes: sizes and axes as
// tensors of integers. Their names mean the same in every op of the reference.

#ifndef FIXPOINT_OPS_ATTRIBUTE_INPUTS_H_
#define FIXPOINT_OPS_ATTRIBUTE_INPUTS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fixpoint {

struct AttributeInput {
  absl::string_view slot;  // its elements, those of one argument after those of another
  absl::string_view attribute;
};

// All of them. If an op has several for one attribute, the first of these counts.
absl::Span<const AttributeInput> AttributeInputs();

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_ATTRIBUTE_INPUTS_H_
