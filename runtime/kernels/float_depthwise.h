// Convolutions of floats where each channel has its own filter, in loops that take the extents of
// the images when they run: a new shape compiles nothing (many_shapes.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_FLOAT_DEPTHWISE_H_
#define FIXPOINT_RUNTIME_KERNELS_FLOAT_DEPTHWISE_H_

#include <memory>

#include "runtime/kernels/convolution.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"

namespace fixpoint::kernels {

// Whether the machine has the instructions, and the loops give the bits of oneDNN's convolution.
bool HasFloatDepthwise(const ConvolutionShape& shape, const Epilogue& epilogue);

// REQUIRES: HasFloatDepthwise, of a complete shape. `adds_to_output` as in ConvolutionForward.
std::unique_ptr<ConvolutionForward> PlanFloatDepthwise(const ConvolutionShape& shape,
                                                       const Epilogue& epilogue,
                                                       bool adds_to_output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_FLOAT_DEPTHWISE_H_
