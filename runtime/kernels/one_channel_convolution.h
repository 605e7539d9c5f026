// Sums of products of codes where images have one channel, as the first layer's may. oneDNN's
// instructions add four channels at once there, of which three are padding.

#ifndef FIXPOINT_RUNTIME_KERNELS_ONE_CHANNEL_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_ONE_CHANNEL_CONVOLUTION_H_

#include <memory>

#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// Whether the kernel is for such a shape and there are instructions for it. Windows less than four
// wide are as fast in oneDNN with a vector of filters or more.
bool IsForOneChannel(const ConvolutionShape& shape);

// As PlanIntegerConvolution (integer_convolution.h). REQUIRES: IsForOneChannel, and
// weights without zero points. Throws std::bad_alloc.
std::unique_ptr<IntegerSums> PlanOneChannelConvolution(const ConvolutionShape& shape,
                                                       const SumCoding& coding,
                                                       const Epilogue& epilogue, OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ONE_CHANNEL_CONVOLUTION_H_
