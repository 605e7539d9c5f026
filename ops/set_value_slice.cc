#include "ops/set_value_slice.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/element_places.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

// The input's axes in the order of a value's, -1 for one of 1.
absl::StatusOr<std::vector<int>> AxesOfValue(int rank, const SetValueLists& lists) {
  std::vector<bool> is_dropped(rank, false);
  for (const int64_t named : lists.decrease_axes) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(named, rank));
    is_dropped[axis] = true;
  }
  if (lists.none_axes.size() > static_cast<size_t>(kMostDims)) {
    return absl::InvalidArgumentError(absl::StrCat("none_axes has ", lists.none_axes.size(),
                                                   " values; want at most ", kMostDims));
  }
  std::vector<int> axes;
  auto none = lists.none_axes.begin();
  for (int axis = 0; axis < rank; ++axis) {
    for (; none != lists.none_axes.end() && *none <= axis; ++none) axes.push_back(-1);
    if (!is_dropped[axis]) axes.push_back(axis);
  }
  for (; none != lists.none_axes.end(); ++none) axes.push_back(-1);
  return axes;
}

std::optional<double> RealNumber(const Scalar& scalar) {
  switch (scalar.type()) {
    case Scalar::BOOLEAN:
      return scalar.b() ? 1 : 0;
    case Scalar::LONG:
      return static_cast<double>(scalar.i());
    case Scalar::FLOAT64:
      return scalar.r();
    case Scalar::COMPLEX128:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<SetValueSlice> SetValueSliceOf(DimsView input, DimsView value,
                                              const SetValueLists& lists) {
  const int rank = static_cast<int>(input.size());
  const size_t count = lists.axes.size();
  if (lists.starts.size() != count || lists.ends.size() != count || lists.steps.size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("axes has ", count, " values, starts ", lists.starts.size(), ", ends ",
                     lists.ends.size(), " and steps ", lists.steps.size(), "; want equal numbers"));
  }
  SetValueSlice slice{Dims(rank, 0), Dims(rank, 1), Dims(input.begin(), input.end()),
                      Dims(rank, 0)};
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(lists.axes[i], rank));
    ASSIGN_OR_RETURN(const SlicedAxis sliced,
                     PythonSliceOf(input[axis], lists.starts[i], lists.ends[i], lists.steps[i]));
    slice.starts[axis] = sliced.start;
    slice.steps[axis] = sliced.step;
    slice.sizes[axis] = sliced.size;
  }
  ASSIGN_OR_RETURN(const std::vector<int> axes, AxesOfValue(rank, lists));
  const auto refuse = [&] {
    return absl::InvalidArgumentError(absl::StrCat("the value is ", DimsText(value),
                                                   " and the slice ", DimsText(slice.sizes),
                                                   "; want one that is broadcast to it"));
  };
  int64_t stride = 1;
  for (size_t back = 1; back <= value.size(); ++back) {
    const int64_t size = value[value.size() - back];
    const int axis = back <= axes.size() ? axes[axes.size() - back] : -1;
    if (size != 1 && (axis < 0 || size != slice.sizes[axis])) return refuse();
    if (axis >= 0 && size != 1) slice.value_strides[axis] = stride;
    stride *= size;
  }
  return slice;
}

absl::StatusOr<std::vector<double>> SetValueNumbers(const OpDesc& op) {
  std::vector<double> numbers;
  if (const OpDesc::Attr* values = FindAttr(op, "values"); values != nullptr) {
    for (const Scalar& scalar : values->scalars()) {
      const std::optional<double> number = RealNumber(scalar);
      if (!number) return absl::InvalidArgumentError("values has a complex number; want real ones");
      numbers.push_back(*number);
    }
  }
  for (const char* list : {"fp32_values", "fp64_values"}) {
    if (numbers.empty()) numbers = FloatsAttr(op, list).value_or(numbers);
  }
  for (const char* list : {"bool_values", "int32_values", "int64_values"}) {
    if (!numbers.empty()) break;
    const std::vector<int64_t> integers = IntsAttr(op, list).value_or(std::vector<int64_t>());
    numbers.assign(integers.begin(), integers.end());
  }
  if (!numbers.empty()) return numbers;
  return absl::InvalidArgumentError(
      "neither ValueTensor nor values gives what is set; want one of them");
}

}  // namespace fixpoint
