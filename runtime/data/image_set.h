// Labelled images in memory, whatever file they came from.

#ifndef FIXPOINT_RUNTIME_DATA_IMAGE_SET_H_
#define FIXPOINT_RUNTIME_DATA_IMAGE_SET_H_

#include "runtime/tensor.h"

namespace fixpoint {

// Pixels stay the bytes that the files have, a quarter of their size as floats; a Batcher scales
// them.
struct ImageSet {
  Tensor images;  // UINT8 [N,C,H,W], of 0 to 255.
  Tensor labels;  // INT64 [N], of 0 up.
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_IMAGE_SET_H_
