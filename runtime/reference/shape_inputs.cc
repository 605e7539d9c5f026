#include "runtime/reference/shape_inputs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint::reference {

absl::StatusOr<std::vector<int64_t>> IntsFrom(const OpRun& op, absl::string_view tensor,
                                              absl::string_view list, absl::string_view attr) {
  std::vector<int64_t> ints;
  if (!tensor.empty() && op.FindInput(tensor) != nullptr) {
    for (const double value : op.FindInput(tensor)->values) {
      ints.push_back(ToInt(value));
    }
    return ints;
  }
  if (!list.empty() && !op.Inputs(list).empty()) {
    for (const Array* element : op.Inputs(list)) {
      if (element->size() != 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            list, " holds a tensor ", DimsText(element->dims), "; want one element in each"));
      }
      ints.push_back(ToInt((*element)[0]));
    }
    return ints;
  }
  return op.Ints(attr);
}

absl::Status CheckSizes(DimsView dims) {
  if (std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; })) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the shape is ", DimsText(dims), "; want no negative sizes"));
}

absl::StatusOr<Dims> ShapeOf(const OpRun& op) {
  const bool has_tensors = op.HasInputSlot("ShapeTensor");
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                   IntsFrom(op, has_tensors ? "ShapeTensor" : "",
                            has_tensors ? "ShapeTensorList" : "", "shape"));
  Dims dims(shape.begin(), shape.end());
  RETURN_IF_ERROR(CheckSizes(dims));
  return dims;
}

}  // namespace fixpoint::reference
