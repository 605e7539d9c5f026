#include "runtime/kernels/convolution_shape.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/extents.h"

namespace fixpoint::kernels {
namespace {

void PadToReach(int64_t size, WindowAxis* axis) {
  const int64_t reach = axis->dilation * (axis->kernel - 1) + 1 - axis->pad_before - size;
  axis->pad_after = std::max(axis->pad_after, reach);
}

}  // namespace

absl::Status CompleteShape(ConvolutionShape* shape) {
  RETURN_IF_ERROR(CheckWindow(shape->window));
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
  PadToReach(shape->height, &shape->window[0]);
  PadToReach(shape->width, &shape->window[1]);
  return CheckExtents("the output",
                      {shape->batch, shape->filters, shape->out_height, shape->out_width});
}

}  // namespace fixpoint::kernels
