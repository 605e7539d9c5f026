#include "ops/unfolding.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// So that no place overflows.
constexpr int64_t kLargest = 1 << 30;

absl::Status CheckValues(absl::string_view name, const std::vector<int64_t>& values, size_t count,
                         int64_t least) {
  const bool fits = values.size() == count &&
                    std::all_of(values.begin(), values.end(),
                                [&](int64_t value) { return value >= least && value <= kLargest; });
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is [", absl::StrJoin(values, ", "),
                                                 "]; want ", count, " values from ", least, " to ",
                                                 kLargest));
}

}  // namespace

absl::StatusOr<Unfolding> Unfolding::Of(DimsView x, const std::vector<int64_t>& kernel_sizes,
                                        const std::vector<int64_t>& strides,
                                        const std::vector<int64_t>& paddings,
                                        const std::vector<int64_t>& dilations) {
  if (x.size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x), "; want [batch, channels, height, width]"));
  }
  RETURN_IF_ERROR(CheckValues("kernel_sizes", kernel_sizes, 2, 1));
  RETURN_IF_ERROR(CheckValues("strides", strides, 2, 1));
  RETURN_IF_ERROR(CheckValues("paddings", paddings, 4, 0));
  RETURN_IF_ERROR(CheckValues("dilations", dilations, 2, 1));
  Unfolding unfolding;
  unfolding.batch = x[0];
  unfolding.channels = x[1];
  for (int i = 0; i < 2; ++i) {
    UnfoldedAxis& axis = i == 0 ? unfolding.rows : unfolding.columns;
    axis = {x[2 + i], kernel_sizes[i], strides[i], paddings[i], dilations[i], kUnknownDim};
    if (axis.size < 0) continue;
    const int64_t reach = axis.dilation * (axis.kernel - 1) + 1;
    if (axis.size > INT64_MAX / 2 || axis.size + axis.before + paddings[2 + i] < reach) {
      return absl::InvalidArgumentError(
          absl::StrCat("X is ", DimsText(x), " with paddings [", absl::StrJoin(paddings, ", "),
                       "]; want at least the ", reach, " places that a window covers"));
    }
    axis.windows = (axis.size + axis.before + paddings[2 + i] - reach) / axis.stride + 1;
  }
  return unfolding;
}

absl::StatusOr<Unfolding> Unfolding::OfColumns(DimsView columns,
                                               const std::vector<int64_t>& output_sizes,
                                               const std::vector<int64_t>& kernel_sizes,
                                               const std::vector<int64_t>& strides,
                                               const std::vector<int64_t>& paddings,
                                               const std::vector<int64_t>& dilations) {
  RETURN_IF_ERROR(CheckValues("output_sizes", output_sizes, 2, 1));
  RETURN_IF_ERROR(CheckValues("kernel_sizes", kernel_sizes, 2, 1));
  const int64_t taps = kernel_sizes[0] * kernel_sizes[1];
  const bool has_channels = columns.size() == 3 && columns[1] >= 0;
  const Dims images = {columns.empty() ? kUnknownDim : columns[0],
                       has_channels ? columns[1] / taps : kUnknownDim, output_sizes[0],
                       output_sizes[1]};
  ASSIGN_OR_RETURN(Unfolding unfolding, Of(images, kernel_sizes, strides, paddings, dilations));
  ASSIGN_OR_RETURN(const Dims wanted, unfolding.OutDims());
  if (!MayBeEqual(columns, wanted)) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(columns), "; want [N, C * ", taps, ", ", wanted[2], "]"));
  }
  RETURN_IF_ERROR(ElementCount(images).status());
  return unfolding;
}

absl::StatusOr<Dims> Unfolding::OutDims() const {
  Dims dims = {batch, kUnknownDim, kUnknownDim};
  if (channels >= 0) {
    ASSIGN_OR_RETURN(dims[1], ElementCount({channels, rows.kernel, columns.kernel}));
  }
  if (rows.windows >= 0 && columns.windows >= 0) {
    ASSIGN_OR_RETURN(dims[2], ElementCount({rows.windows, columns.windows}));
  }
  RETURN_IF_ERROR(ElementCount(dims).status());
  return dims;
}

}  // namespace fixpoint
