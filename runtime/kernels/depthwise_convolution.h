// Sums of products of codes where each channel has a filter of its own: little arithmetic, so that
// what is left is to read and write as fast as memory does.

#ifndef FIXPOINT_RUNTIME_KERNELS_DEPTHWISE_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_DEPTHWISE_CONVOLUTION_H_

#include <memory>

#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// Whether the kernel is for such a shape and there are instructions for it. oneDNN's is faster in
// the caches with a stride, or with rows of few pixels, and with large windows on such rows.
bool IsForDepthwise(const ConvolutionShape& shape);

// As PlanIntegerConvolution (integer_convolution.h). REQUIRES: IsForDepthwise, and
// weights without zero points. Throws std::bad_alloc.
std::unique_ptr<IntegerSums> PlanDepthwiseConvolution(const ConvolutionShape& shape,
                                                      const SumCoding& coding,
                                                      const Epilogue& epilogue, OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_DEPTHWISE_CONVOLUTION_H_
