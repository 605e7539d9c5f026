#include "runtime/kernels/convolution_shape.h"

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/status_macros.h"

namespace fixpoint::kernels {

absl::Status CompleteShape(ConvolutionShape* shape) {
  for (const int64_t extent :
       {shape->batch, shape->channels, shape->height, shape->width, shape->filters, shape->groups,
        shape->window[0].kernel, shape->window[1].kernel}) {
    if (extent < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a convolution of [", shape->batch, ",", shape->channels, ",", shape->height,
                       ",", shape->width, "] with ", shape->filters, " filters in ", shape->groups,
                       " groups; want 1 or more of each"));
    }
  }
  if (shape->channels % shape->groups != 0 || shape->filters % shape->groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(shape->groups, " groups of ", shape->channels,
                                                   " channels and ", shape->filters,
                                                   " filters; want a divisor of both"));
  }
  ASSIGN_OR_RETURN(shape->out_height, WindowCount(shape->height, shape->window[0]));
  ASSIGN_OR_RETURN(shape->out_width, WindowCount(shape->width, shape->window[1]));
  for (const Dims& dims : {Dims{shape->batch, shape->channels, shape->height, shape->width},
                           Dims{shape->batch, shape->filters, shape->out_height, shape->out_width},
                           Dims{shape->filters, shape->channels / shape->groups,
                                shape->window[0].kernel, shape->window[1].kernel}}) {
    RETURN_IF_ERROR(ElementCount(dims).status());
  }
  return absl::OkStatus();
}

}  // namespace fixpoint::kernels
