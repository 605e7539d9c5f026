#include "runtime/kernels/convolution_shape.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/status_macros.h"
#include "runtime/kernels/extents.h"

namespace fixpoint::kernels {
namespace {

absl::Status CheckAxis(const WindowAxis& axis) {
  RETURN_IF_ERROR(
      CheckExtents("kernel, stride and dilation", {axis.kernel, axis.stride, axis.dilation}));
  for (const int64_t pad : {axis.pad_before, axis.pad_after}) {
    if (pad >= 0 && pad <= std::numeric_limits<int32_t>::max()) continue;
    return absl::InvalidArgumentError(absl::StrCat("a padding is ", pad, "; want 0 to 2^31 - 1"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CompleteShape(ConvolutionShape* shape) {
  for (const WindowAxis& axis : shape->window) RETURN_IF_ERROR(CheckAxis(axis));
  RETURN_IF_ERROR(
      CheckExtents("images", {shape->batch, shape->channels, shape->height, shape->width}));
  RETURN_IF_ERROR(CheckExtents("filters and groups", {shape->filters, shape->groups}));
  if (shape->channels % shape->groups != 0 || shape->filters % shape->groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(shape->groups, " groups of ", shape->channels,
                                                   " channels and ", shape->filters,
                                                   " filters; want a divisor of both"));
  }
  RETURN_IF_ERROR(CheckExtents("filters", {shape->filters, shape->channels / shape->groups,
                                           shape->window[0].kernel, shape->window[1].kernel}));
  ASSIGN_OR_RETURN(shape->out_height, WindowCount(shape->height, shape->window[0]));
  ASSIGN_OR_RETURN(shape->out_width, WindowCount(shape->width, shape->window[1]));
  return CheckExtents("the output",
                      {shape->batch, shape->filters, shape->out_height, shape->out_width});
}

}  // namespace fixpoint::kernels
