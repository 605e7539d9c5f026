#include "ops/window.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/window_axes.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

std::string NumberText(size_t count) {
  return count == 2 ? "two" : count == 3 ? "three" : absl::StrCat(count);
}

absl::Status CheckEach(absl::string_view name, const std::vector<int64_t>& values, size_t axes) {
  const bool positive = std::all_of(values.begin(), values.end(), [](int64_t v) { return v > 0; });
  if (positive && values.size() == axes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is [", absl::StrJoin(values, ", "),
                                                 "]; want ", NumberText(axes),
                                                 " positive numbers"));
}

absl::Status CheckPaddings(const std::vector<int64_t>& paddings, size_t axes) {
  const bool negative =
      std::any_of(paddings.begin(), paddings.end(), [](int64_t p) { return p < 0; });
  if (!negative && (paddings.size() == axes || paddings.size() == 2 * axes)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("paddings is [", absl::StrJoin(paddings, ", "),
                                                 "]; want ", axes, " or ", 2 * axes,
                                                 " numbers, none negative"));
}

absl::int128 Extent(const WindowAxis& axis) {
  return absl::int128(axis.dilation) * (axis.kernel - 1) + 1;
}

absl::StatusOr<int64_t> Narrow(absl::int128 value) {
  if (value > std::numeric_limits<int64_t>::max()) {
    return absl::InvalidArgumentError("a spatial size is more than an int64 holds");
  }
  return static_cast<int64_t>(value);
}

}  // namespace

absl::StatusOr<WindowAxes> MakeWindowAxes(const WindowAttrs& attrs, DimsView kernel,
                                          DimsView size) {
  const size_t axes = kernel.size();
  RETURN_IF_ERROR(CheckEach("strides", attrs.strides, axes));
  RETURN_IF_ERROR(CheckEach("dilations", attrs.dilations, axes));
  RETURN_IF_ERROR(CheckPaddings(attrs.paddings, axes));
  const bool same = attrs.padding_algorithm == "SAME";
  const bool valid = attrs.padding_algorithm == "VALID";
  if (!same && !valid && attrs.padding_algorithm != "EXPLICIT") {
    return absl::InvalidArgumentError(absl::StrCat(
        "padding_algorithm is \"", attrs.padding_algorithm, "\"; want EXPLICIT, SAME or VALID"));
  }
  WindowAxes window(axes);
  for (size_t i = 0; i < axes; ++i) {
    WindowAxis& axis = window[i];
    axis.kernel = kernel[i];
    axis.stride = attrs.strides[i];
    axis.dilation = same ? 1 : attrs.dilations[i];
    if (same && size[i] > 0 && kernel[i] > 0) {
      const absl::int128 count = (absl::int128(size[i]) + axis.stride - 1) / axis.stride;
      const absl::int128 wanted = (count - 1) * axis.stride + axis.kernel - size[i];
      ASSIGN_OR_RETURN(const int64_t total, Narrow(std::max<absl::int128>(wanted, 0)));
      axis.pad_before = total / 2;
      axis.pad_after = total - axis.pad_before;
    } else if (!same && !valid) {
      const bool per_side = attrs.paddings.size() == 2 * axes;
      axis.pad_before = attrs.paddings[per_side ? 2 * i : i];
      axis.pad_after = attrs.paddings[per_side ? 2 * i + 1 : i];
    }
  }
  return window;
}

absl::StatusOr<Window> MakeWindow(const WindowAttrs& attrs, DimsView kernel, DimsView size) {
  ASSIGN_OR_RETURN(const WindowAxes axes, MakeWindowAxes(attrs, kernel.first(2), size.first(2)));
  return Window{axes[0], axes[1]};
}

absl::StatusOr<int64_t> WindowCount(int64_t size, const WindowAxis& axis, bool ceil_mode) {
  if (size < 0 || axis.kernel < 0) return kUnknownDim;
  const absl::int128 padded = absl::int128(size) + axis.pad_before + axis.pad_after;
  const absl::int128 room = padded - Extent(axis);
  if (axis.kernel < 1 || room <= -axis.stride) {
    return absl::InvalidArgumentError(
        absl::StrCat("no window of ", axis.kernel, " (dilation ", axis.dilation, ") fits in ", size,
                     " with paddings ", axis.pad_before, " and ", axis.pad_after));
  }
  return Narrow((room + (ceil_mode ? axis.stride - 1 : 0)) / axis.stride + 1);
}

absl::StatusOr<int64_t> TransposedSize(int64_t size, const WindowAxis& axis) {
  if (size < 0 || axis.kernel < 0) return kUnknownDim;
  const absl::int128 made =
      (absl::int128(size) - 1) * axis.stride - axis.pad_before - axis.pad_after + Extent(axis);
  if (axis.kernel < 1 || made < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a window of ", axis.kernel, " (stride ", axis.stride, ", paddings ",
                     axis.pad_before, " and ", axis.pad_after, ") makes nothing of ", size));
  }
  return Narrow(made);
}

}  // namespace fixpoint
