// Sizes that an op takes from an attribute or, where the op has them, from tensors.

#ifndef FIXPOINT_RUNTIME_REFERENCE_SHAPE_INPUTS_H_
#define FIXPOINT_RUNTIME_REFERENCE_SHAPE_INPUTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "runtime/reference/op_run.h"

namespace fixpoint::reference {

// The value that an op takes from a tensor `tensor` of integers, else from a list `list` of tensors
// of one element, else from the attribute. "" for a slot that the op does not have. Error
// (kInvalidArgument): a tensor of the list does not have one element.
absl::StatusOr<std::vector<int64_t>> IntsFrom(const OpRun& op, absl::string_view tensor,
                                              absl::string_view list, absl::string_view attr);

// The dims that `shape` gives, with its tensors if the op has them. Error (kInvalidArgument): a
// size is negative.
absl::StatusOr<Dims> ShapeOf(const OpRun& op);

// Error (kInvalidArgument): one is negative.
absl::Status CheckSizes(DimsView dims);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_SHAPE_INPUTS_H_
