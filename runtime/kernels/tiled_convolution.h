// Sums of products of codes as products of matrices, in tiles that stay in registers: for
// convolutions of many channels, where the share of instructions that multiply decides the speed,
// and for small ones, where it saves the time of compiling a kernel.

#ifndef FIXPOINT_RUNTIME_KERNELS_TILED_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_TILED_CONVOLUTION_H_

#include <memory>

#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// Whether the kernel suits the convolution and the machine has the instructions for it: at least 16
// taps; filters that fill vectors of 16; output rows whose length is a multiple of 8, or of 7 where
// filters fill pairs of vectors, or windows of one pixel, for which rows do not matter; enough
// pixels for a tile or two; an epilogue that ends in codes and can be folded (folded_epilogue.h).
bool IsForTiles(const ConvolutionShape& shape, const Epilogue& epilogue, OutputType output);

// As PlanIntegerConvolution (integer_convolution.h). REQUIRES: IsForTiles, and
// weights without zero points. Throws std::bad_alloc.
std::unique_ptr<IntegerSums> PlanTiledConvolution(const ConvolutionShape& shape,
                                                  const SumCoding& coding, const Epilogue& epilogue,
                                                  OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_TILED_CONVOLUTION_H_
