#include "runtime/kernels/arithmetic.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {

void Scale(absl::Span<const float> x, float factor, float bias, BiasOrder order,
           absl::Span<float> y) {
  CHECK_EQ(y.size(), x.size());
  Vectorised([=, x = x.data(), y = y.data(), size = x.size()] {
    if (order == BiasOrder::kAfterFactor) {
#pragma GCC ivdep  // y may be x
      for (size_t i = 0; i < size; ++i) y[i] = x[i] * factor + bias;
    } else {
#pragma GCC ivdep
      for (size_t i = 0; i < size; ++i) y[i] = (x[i] + bias) * factor;
    }
  });
}

void AddAll(absl::Span<const absl::Span<const float>> terms, absl::Span<float> y_span) {
  CHECK(!terms.empty());
  for (const auto& term : terms) CHECK_EQ(term.size(), y_span.size());
  // Of each block all terms are read before any of it is written: y may be any of them.
  Vectorised([terms, y = y_span.data(), size = y_span.size()] {
    constexpr size_t kBlock = 256;
    float sums[kBlock];
    for (size_t begin = 0; begin < size; begin += kBlock) {
      const size_t count = std::min(kBlock, size - begin);
      const float* const first = terms[0].data() + begin;
      for (size_t i = 0; i < count; ++i) sums[i] = first[i];
      for (size_t t = 1; t < terms.size(); ++t) {
        const float* const term = terms[t].data() + begin;
        for (size_t i = 0; i < count; ++i) sums[i] += term[i];
      }
      for (size_t i = 0; i < count; ++i) y[begin + i] = sums[i];
    }
  });
}

double Sum(absl::Span<const float> x) {
  double sum = 0;
  Vectorised([x = x.data(), size = x.size(), sum = &sum] {
    *sum = LaneSum(static_cast<int64_t>(size), [x](int64_t i) { return x[i]; });
  });
  return sum;
}

double SumOfSquares(absl::Span<const float> x) {
  double sum = 0;
  Vectorised([x = x.data(), size = x.size(), sum = &sum] {
    *sum = LaneSum(static_cast<int64_t>(size), [x](int64_t i) {
      const double element = x[i];
      return element * element;
    });
  });
  return sum;
}

}  // namespace fixpoint::kernels
