// How the weights of sums lie in memory, and how to split sums of products of codes into parts that
// floats add exactly.

#ifndef FIXPOINT_RUNTIME_KERNELS_SUM_PARTS_H_
#define FIXPOINT_RUNTIME_KERNELS_SUM_PARTS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "ops/sums_of_codes.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

// Which weights belong to which sum: there are `groups` consecutive groups of weights, and sum i of
// a group has `products` weights, `stride` apart, from i * sum_stride on.
struct WeightsOfSums {
  int64_t groups;
  int64_t sums;  // of a group
  int64_t sum_stride;
  int64_t products;  // of a sum
  int64_t stride;

  int64_t count() const { return groups * sums; }
};

WeightsOfSums WeightsOf(const ConvolutionShape& shape);
WeightsOfSums WeightsOf(const ProductShape& shape);

// Adds up the weights of each sum. REQUIRES: sizes as described.
void AddUpWeights(absl::Span<const int8_t> codes, const WeightsOfSums& weights,
                  absl::Span<int32_t> sums);

// Whether floats hold every sum of `products` products exactly, whatever the codes are: up to 2^24.
bool FloatsHoldSums(int64_t products, const InputCoding& inputs);

// Splits the weights of each sum into parts, so small that floats add the products of a part
// without rounding, whatever the inputs are: up to 2^24.
class SumParts {
 public:
  SumParts(const WeightsOfSums& weights, const InputCoding& inputs);

  // The most parts that a sum can need. A full part has room for less than one more product.
  int64_t most() const;

  // Assigns each weight to a part; returns the number of parts. REQUIRES: equal sizes.
  int64_t ShareOut(absl::Span<const int8_t> codes, absl::Span<int> parts) const;

 private:
  int64_t ShareOutSum(absl::Span<const int8_t> codes, int64_t first, absl::Span<int> parts) const;

  WeightsOfSums weights_;
  SumOfProducts sum_;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SUM_PARTS_H_
