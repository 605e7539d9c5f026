// Sums of products of codes for images with one channel, as in the first layer of some networks.
// oneDNN adds four channels with one instruction, three of which would be padding here.

#ifndef FIXPOINT_RUNTIME_KERNELS_ONE_CHANNEL_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_ONE_CHANNEL_CONVOLUTION_H_

#include <memory>

#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// Whether the kernel suits the shape and the machine has the instructions for it. For windows
// narrower than four, oneDNN is as fast from a vector of filters on.
bool IsForOneChannel(const ConvolutionShape& shape);

// As PlanIntegerConvolution (integer_convolution.h). REQUIRES: IsForOneChannel, and
// weights without zero points. Throws std::bad_alloc.
std::unique_ptr<IntegerSums> PlanOneChannelConvolution(const ConvolutionShape& shape,
                                                       const SumCoding& coding,
                                                       const Epilogue& epilogue, OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ONE_CHANNEL_CONVOLUTION_H_
