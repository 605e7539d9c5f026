// How the weights of sums lie, and sums of products of codes in parts that floats hold exactly.

#ifndef FIXPOINT_RUNTIME_KERNELS_SUM_PARTS_H_
#define FIXPOINT_RUNTIME_KERNELS_SUM_PARTS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// Which weights are added up: `groups` of them lie one after the other, and sum i of a group is of
// `products` weights from i * sum_stride on, `stride` apart.
struct WeightsOfSums {
  int64_t groups;
  int64_t sums;  // of a group
  int64_t sum_stride;
  int64_t products;  // of a sum
  int64_t stride;

  int64_t count() const { return groups * sums; }
};

// The sum of the weights of each sum. REQUIRES: sizes of what is described.
void AddUpWeights(absl::Span<const int8_t> codes, const WeightsOfSums& weights,
                  absl::Span<int32_t> sums);

// Whether floats hold every sum of so many products, whatever the codes are: up to 2^24.
bool FloatsHoldSums(int64_t products, const InputCoding& inputs);

// Shares the weights of sums out to parts, each of so little that whatever the inputs are, floats
// add up its products without rounding: up to 2^24.
class SumParts {
 public:
  SumParts(const WeightsOfSums& weights, const InputCoding& inputs);

  // As many as there can be. A part that is full lacks less than one product.
  int64_t most() const;

  // Says for each weight which part it belongs to; gives their number. REQUIRES: equal sizes.
  int64_t ShareOut(absl::Span<const int8_t> codes, absl::Span<int> parts) const;

 private:
  int64_t ShareOutSum(absl::Span<const int8_t> codes, int64_t first, absl::Span<int> parts) const;

  WeightsOfSums weights_;
  int64_t largest_input_;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SUM_PARTS_H_
