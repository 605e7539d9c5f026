// Sums of products of codes in parts that floats hold exactly.

#ifndef FIXPOINT_RUNTIME_KERNELS_SUM_PARTS_H_
#define FIXPOINT_RUNTIME_KERNELS_SUM_PARTS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// Of a code less its zero point.
inline int LargestMagnitude(const InputCoding& inputs) {
  return inputs.has_zero_point || inputs.type == CodeType::kUint8 ? 255 : 128;
}

// Which weights are added up: `groups` of them lie one after the other, and sum i of a group is of
// the `size` runs of `run` weights from i * sum_stride on, `stride` apart.
struct WeightsOfSums {
  int64_t groups;
  int64_t sums;  // of a group
  int64_t sum_stride;
  int64_t size;
  int64_t stride;
  int64_t run = 1;

  int64_t products() const { return size * run; }  // of a sum
};

// Shares the weights of sums out to parts, each of so little that whatever the inputs are, floats
// add up its products without rounding: up to 2^24.
class SumParts {
 public:
  SumParts(const WeightsOfSums& weights, const InputCoding& inputs)
      : weights_(weights), largest_input_(LargestMagnitude(inputs)) {}

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
