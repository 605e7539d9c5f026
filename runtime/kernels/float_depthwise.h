// Convolutions of floats where each channel has its own filter, in loops that take the extents of
// the images when they run: a new shape compiles nothing (many_shapes.h). Windows of 3x3 are
// computed in tiles (float_depthwise_tiles.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_FLOAT_DEPTHWISE_H_
#define FIXPOINT_RUNTIME_KERNELS_FLOAT_DEPTHWISE_H_

#include <memory>

#include "runtime/kernels/convolution.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"

namespace fixpoint::kernels {

// Whether the machine has the instructions, and the loops give the bits of oneDNN's convolution.
bool HasFloatDepthwise(const ConvolutionShape& shape, const Epilogue& epilogue);

// Whether they take less time than oneDNN's. Tiles take 0.6 to 0.8 of it (Zen 4, brgdmm_dw of
// oneDNN 3.2), other windows more than it.
bool IsFasterAsFloatDepthwise(const ConvolutionShape& shape);

// REQUIRES: HasFloatDepthwise, of a complete shape. `adds_to_output` as in ConvolutionForward.
std::unique_ptr<ConvolutionForward> PlanFloatDepthwise(const ConvolutionShape& shape,
                                                       const Epilogue& epilogue,
                                                       bool adds_to_output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_FLOAT_DEPTHWISE_H_
