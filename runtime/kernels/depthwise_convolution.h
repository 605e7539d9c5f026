// Sums of products of codes where each channel has its own filter: there is little arithmetic, so
// the speed of memory is the limit.

#ifndef FIXPOINT_RUNTIME_KERNELS_DEPTHWISE_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_DEPTHWISE_CONVOLUTION_H_

#include <memory>

#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// Whether the kernel suits the shape and the machine has the instructions for it. oneDNN's kernel
// is faster within the caches with a stride, or with short rows, and with large windows on such
// rows.
bool IsForDepthwise(const ConvolutionShape& shape);

// As PlanIntegerConvolution (integer_convolution.h). REQUIRES: IsForDepthwise, and
// weights without zero points. Throws std::bad_alloc.
std::unique_ptr<IntegerSums> PlanDepthwiseConvolution(const ConvolutionShape& shape,
                                                      const SumCoding& coding,
                                                      const Epilogue& epilogue, OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_DEPTHWISE_CONVOLUTION_H_
