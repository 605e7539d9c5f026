// How the images of an op lie, by its data_format or data_layout. Kernels take images whose
// channels lie last, which is the row-major order of a tensor that a program holds as NHWC: such a
// tensor is read and written as it is.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_IMAGE_FORM_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_IMAGE_FORM_H_

#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "ops/window.h"
#include "runtime/executor/plan.h"

namespace fixpoint::executor {

class ImageForm {
 public:
  explicit ImageForm(absl::string_view data_format)
      : is_channels_last_(IsChannelsLast(data_format)) {}

  // The dims of a buffer whose channels lie last.
  Layout layout() const { return is_channels_last_ ? Layout::kRowMajor : Layout::kChannelsLast; }
  // The axis of images; for a matrix [N, C] it is 1 in either format.
  int channel_axis(int rank = 4) const { return is_channels_last_ ? rank - 1 : 1; }

  // [N, C, H, W] of the program's dimensions, and the other way round. REQUIRES: 4 dimensions.
  Dims ToNchw(const Dims& dims) const {
    return is_channels_last_ ? Dims{dims[0], dims[3], dims[1], dims[2]} : dims;
  }
  Dims FromNchw(const Dims& nchw) const {
    return is_channels_last_ ? Dims{nchw[0], nchw[2], nchw[3], nchw[1]} : nchw;
  }

 private:
  bool is_channels_last_;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_IMAGE_FORM_H_
