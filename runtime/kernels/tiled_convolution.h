// Sums of products of codes as products of matrices, in tiles that stay in registers: of
// convolutions of many channels, where what counts is how many of the processor's instructions are
// products, and of small ones, for which nothing is compiled then.

#ifndef FIXPOINT_RUNTIME_KERNELS_TILED_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_TILED_CONVOLUTION_H_

#include <memory>

#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// Whether the kernel is for such a convolution and there are instructions for it: 16 taps and more;
// filters that fill vectors of 16; pixels of each row of the output that are eights, or sevens
// where filters fill pairs of vectors, or windows of one pixel, of which rows do not matter; pixels
// for a tile or two; an epilogue that ends in codes and can be folded (folded_epilogue.h).
bool IsForTiles(const ConvolutionShape& shape, const Epilogue& epilogue, OutputType output);

// As PlanIntegerConvolution (integer_convolution.h). REQUIRES: IsForTiles, and
// weights without zero points. Throws std::bad_alloc.
std::unique_ptr<IntegerSums> PlanTiledConvolution(const ConvolutionShape& shape,
                                                  const SumCoding& coding, const Epilogue& epilogue,
                                                  OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_TILED_CONVOLUTION_H_
