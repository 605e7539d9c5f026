// The parts in which the gradient of a convolution's filters is computed, each on one thread. The
// shape alone decides them, so that any number of threads gives the same bits.

#ifndef FIXPOINT_RUNTIME_KERNELS_CONVOLUTION_PARTS_H_
#define FIXPOINT_RUNTIME_KERNELS_CONVOLUTION_PARTS_H_

#include <cstdint>
#include <vector>

#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/machine.h"

namespace fixpoint::kernels {

struct ConvolutionParts {
  enum class Cut {
    kImages,   // into images, or rows of them: gradients of parts are added up in their order
    kFilters,  // into filters, which read all images
  };
  struct Part {
    ConvolutionShape shape;
    int64_t x = 0;   // the element where its images begin
    int64_t dy = 0;  // and where its output begins, in rows of the whole one's filters
  };

  Cut cut = Cut::kImages;
  std::vector<Part> parts;
};

// REQUIRES: a complete shape; `most` is 1 or more.
ConvolutionParts PartsOfFilterGradient(const ConvolutionShape& shape, int64_t most = kMostParts);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CONVOLUTION_PARTS_H_
