// Rendered images of digits: a data set for machines without one.

#ifndef FIXPOINT_RUNTIME_DATA_DIGITS_H_
#define FIXPOINT_RUNTIME_DATA_DIGITS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/data/image_set.h"

namespace fixpoint {

// `count` images [count,1,28,28] of ink on black, as in MNIST. Image i is the digit i % 10, drawn
// by a pen and then moved, turned, slanted, stretched and covered with noise, all from the seed and
// i: the first images of a larger set are those of a smaller one, and the same on every machine,
// because only operations that IEEE 754 rounds exactly are used. Sets of different seeds have
// nothing in common, as for training and for measuring. kInvalidArgument for a count that is
// negative or over 2^32 - 1; kFailedPrecondition if the system has no memory.
absl::StatusOr<ImageSet> RenderDigits(int64_t count, uint64_t seed);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_DIGITS_H_
