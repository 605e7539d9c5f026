#include "runtime/kernels/arithmetic.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {

void Scale(absl::Span<const float> x, float factor, float bias, BiasOrder order,
           absl::Span<float> y) {
  CHECK_EQ(y.size(), x.size());
  ParallelFor(y.size(), 8, [=, x = x.data(), y = y.data()](int64_t begin, int64_t end) {
    if (order == BiasOrder::kAfterFactor) {
#pragma GCC ivdep  // y may be x
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] * factor + bias;
    } else {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) y[i] = (x[i] + bias) * factor;
    }
  });
}

void AddAll(absl::Span<const absl::Span<const float>> terms, absl::Span<float> y_span) {
  CHECK(!terms.empty());
  for (const auto& term : terms) CHECK_EQ(term.size(), y_span.size());
  // All terms of a block are read before any of it is written: y may be any of them.
  const int64_t bytes = 4 * static_cast<int64_t>(terms.size() + 1);
  ParallelFor(y_span.size(), bytes, [terms, y = y_span.data()](int64_t begin, int64_t end) {
    constexpr int64_t kBlock = 256;
    float sums[kBlock];
    for (; begin < end; begin += kBlock) {
      const int64_t count = std::min(kBlock, end - begin);
      const float* const first = terms[0].data() + begin;
      for (int64_t i = 0; i < count; ++i) sums[i] = first[i];
      for (size_t t = 1; t < terms.size(); ++t) {
        const float* const term = terms[t].data() + begin;
        for (int64_t i = 0; i < count; ++i) sums[i] += term[i];
      }
      for (int64_t i = 0; i < count; ++i) y[begin + i] = sums[i];
    }
  });
}

double Sum(absl::Span<const float> x) {
  return ParallelSum(x.size(), 4, [x = x.data()](int64_t i) { return x[i]; });
}

double SumOfSquares(absl::Span<const float> x) {
  return ParallelSum(x.size(), 4, [x = x.data()](int64_t i) {
    const double element = x[i];
    return element * element;
  });
}

}  // namespace fixpoint::kernels
