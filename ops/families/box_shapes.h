// Checks of shapes that the families of boxes and regions share.

#ifndef FIXPOINT_OPS_FAMILIES_BOX_SHAPES_H_
#define FIXPOINT_OPS_FAMILIES_BOX_SHAPES_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/infer.h"

namespace fixpoint {

// Errors (kInvalidArgument): the dims are known and not as wanted.
inline absl::Status CheckRank(absl::string_view slot, const TensorInfo& tensor, int rank) {
  if (!tensor.has_dims() || tensor.rank() == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is ", DimsText(tensor.dims), "; want ", rank, " dimensions"));
}
inline absl::Status CheckRowsOfBoxes(absl::string_view slot, const TensorInfo& boxes) {
  if (!boxes.has_dims() || (boxes.rank() == 2 && MayBeEqual(boxes.dims[1], 4))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is ", DimsText(boxes.dims), "; want rows of 4"));
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_FAMILIES_BOX_SHAPES_H_
