// Sums of products of codes as products of matrices, in tiles that stay in registers: of
// convolutions of many channels, where what counts is how many of the processor's instructions are
// products, and of small ones, for which nothing is compiled then.

#ifndef FIXPOINT_RUNTIME_KERNELS_TILED_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_TILED_CONVOLUTION_H_

#include <memory>

#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

// As a row of sums_kernels.h. There are tiles for convolutions of 16 taps and more; filters that
// fill vectors of 16; pixels of each row of the output that are eights, or sevens where filters
// fill pairs of vectors, or windows of one pixel, of which rows do not matter; pixels for a tile or
// two.
bool IsForTiles(const SumsProblem& problem);
// The same for filters that do not fill vectors. The lanes that are left over are wasted, but a
// bias is free, which it is not in oneDNN.
bool IsForTilesOfParts(const SumsProblem& problem);
std::unique_ptr<IntegerSums> PlanTiledConvolution(const SumsProblem& problem);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_TILED_CONVOLUTION_H_
