// Sums of products of codes in tiles that stay in registers (tile_loops.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_TILED_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_TILED_SUMS_H_

#include <memory>

#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/plain_sums.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

// As a row of sums_kernels.h. Not for rows of x that lie apart, and groups of one to three
// channels, of which steps or panels would be mostly empty; but for depthwise convolutions, whose
// rows have no dilation.
bool IsForTiles(const SumsProblem& problem);
// Where VNNI is as fast as in oneDNN or faster: convolutions of 16 taps and more, but for depthwise
// ones and those of an image of a few pixels, whose sums wait for each other.
bool IsForFastTiles(const SumsProblem& problem);
std::unique_ptr<IntegerSums> PlanTiledSums(const SumsProblem& problem);

// The sums alone, as integers.
std::unique_ptr<PlainSums> PlanPlainTiledSums(const SumsProblem& problem);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_TILED_SUMS_H_
