#include "runtime/kernels/sum_parts.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdlib>

namespace fixpoint::kernels {
namespace {

// What floats add without rounding.
constexpr int64_t kExact = int64_t{1} << 24;

}  // namespace

WeightsOfSums WeightsOf(const ConvolutionShape& shape) {
  return {1, shape.filters, shape.taps(), shape.taps(), 1};
}

WeightsOfSums WeightsOf(const ProductShape& shape) {
  const int64_t row = shape.transpose_y ? 1 : shape.columns;
  const int64_t column = shape.transpose_y ? shape.inner : 1;
  return {shape.batch, shape.columns, column, shape.inner, row};
}

void AddUpWeights(absl::Span<const int8_t> codes, const WeightsOfSums& weights,
                  absl::Span<int32_t> sums) {
  CHECK_EQ(static_cast<int64_t>(codes.size()), weights.count() * weights.products);
  CHECK_EQ(static_cast<int64_t>(sums.size()), weights.count());
  std::fill(sums.begin(), sums.end(), 0);
  const int8_t* group = codes.data();
  int32_t* of_group = sums.data();
  for (int64_t g = 0; g < weights.groups; ++g) {
    if (weights.sum_stride == 1) {
      for (int64_t i = 0; i < weights.products; ++i) {
        const int8_t* const line = group + i * weights.stride;
        for (int64_t s = 0; s < weights.sums; ++s) of_group[s] += line[s];
      }
    } else {
      for (int64_t s = 0; s < weights.sums; ++s) {
        const int8_t* const first = group + s * weights.sum_stride;
        for (int64_t i = 0; i < weights.products; ++i) of_group[s] += first[i * weights.stride];
      }
    }
    group += weights.sums * weights.products;
    of_group += weights.sums;
  }
}

bool FloatsHoldSums(int64_t products, const InputCoding& inputs) {
  return products <= kExact / SumCoding(inputs).Sum(products).largest_product();
}

SumParts::SumParts(const WeightsOfSums& weights, const InputCoding& inputs)
    : weights_(weights), sum_(SumCoding(inputs).Sum(weights.products)) {}

int64_t SumParts::most() const { return sum_.largest() / (kExact - sum_.largest_product()) + 1; }

int64_t SumParts::ShareOut(absl::Span<const int8_t> codes, absl::Span<int> parts) const {
  CHECK_EQ(codes.size(), parts.size());
  const int64_t group_size = weights_.sums * weights_.products;
  int64_t count = 1;
  for (int64_t group = 0; group < weights_.groups; ++group) {
    for (int64_t sum = 0; sum < weights_.sums; ++sum) {
      const int64_t first = group * group_size + sum * weights_.sum_stride;
      count = std::max(count, ShareOutSum(codes, first, parts));
    }
  }
  return count;
}

int64_t SumParts::ShareOutSum(absl::Span<const int8_t> codes, int64_t first,
                              absl::Span<int> parts) const {
  int64_t sum = 0;
  int part = 0;
  for (int64_t i = 0; i < weights_.products; ++i) {
    const int64_t place = first + i * weights_.stride;
    const int64_t most = std::abs(int64_t{codes[place]}) * sum_.largest_activation();
    if (sum + most > kExact) {
      sum = 0;
      ++part;
    }
    sum += most;
    parts[place] = part;
  }
  return part + 1;
}

}  // namespace fixpoint::kernels
