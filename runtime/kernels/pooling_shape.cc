#include "runtime/kernels/pooling_shape.h"

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/extents.h"

namespace fixpoint::kernels {

absl::Status CompleteShape(PoolingShape* shape) {
  RETURN_IF_ERROR(
      CheckExtents("images", {shape->batch, shape->channels, shape->height, shape->width}));
  if (!shape->adaptive) {
    RETURN_IF_ERROR(CheckWindow(shape->window));
    for (const WindowAxis& axis : shape->window) {
      if (axis.dilation == 1) continue;
      return absl::InvalidArgumentError(absl::StrCat("dilation is ", axis.dilation, "; want 1"));
    }
    ASSIGN_OR_RETURN(shape->out_height,
                     WindowCount(shape->height, shape->window[0], shape->ceil_mode));
    ASSIGN_OR_RETURN(shape->out_width,
                     WindowCount(shape->width, shape->window[1], shape->ceil_mode));
  }
  return CheckExtents("the output",
                      {shape->batch, shape->channels, shape->out_height, shape->out_width});
}

}  // namespace fixpoint::kernels
