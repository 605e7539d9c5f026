#include "runtime/kernels/sum_parts.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdlib>

namespace fixpoint::kernels {
namespace {

// What floats add without rounding.
constexpr int64_t kExact = int64_t{1} << 24;

}  // namespace

int64_t SumParts::most() const {
  const int64_t most_of_product = 128 * largest_input_;
  return weights_.products() * most_of_product / (kExact - most_of_product) + 1;
}

int64_t SumParts::ShareOut(absl::Span<const int8_t> codes, absl::Span<int> parts) const {
  CHECK_EQ(codes.size(), parts.size());
  const int64_t group_size = weights_.sums * weights_.products();
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
  for (int64_t i = 0; i < weights_.products(); ++i) {
    const int64_t place = first + i / weights_.run * weights_.stride + i % weights_.run;
    const int64_t most = std::abs(int64_t{codes[place]}) * largest_input_;
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
