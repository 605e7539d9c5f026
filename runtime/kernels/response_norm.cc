#include "runtime/kernels/response_norm.h"

#include <algorithm>
#include <cmath>

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

// Calls f(at, first, last) for each element with the places of the channels around it, which are
// `inner` apart.
template <typename F>
void ForEachElement(const ResponseNorm& norm, F f) {
  const int64_t block = norm.channels * norm.inner;
  ParallelFor(norm.outer * norm.channels, 16 * norm.inner, [=](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t c = line % norm.channels;
      const int64_t first = std::max<int64_t>(c - norm.reach, 0);
      const int64_t last = std::min(c + norm.reach, norm.channels - 1);
      const int64_t start = line / norm.channels * block;
      for (int64_t i = 0; i < norm.inner; ++i) {
        f(start + c * norm.inner + i, start + first * norm.inner + i,
          start + last * norm.inner + i);
      }
    }
  });
}

}  // namespace

void ResponseNorm::Forward(absl::Span<const float> x, absl::Span<float> sums,
                           absl::Span<float> y) const {
  ForEachElement(*this, [=](int64_t at, int64_t first, int64_t last) {
    double squares = 0;
    for (int64_t i = first; i <= last; i += inner) squares += double{x[i]} * double{x[i]};
    sums[at] = static_cast<float>(double{k} + double{alpha} * squares);
    y[at] = x[at] * static_cast<float>(std::pow(double{sums[at]}, -double{beta}));
  });
}

void ResponseNorm::Backward(absl::Span<const float> x, absl::Span<const float> sums,
                            absl::Span<const float> y, absl::Span<const float> dy,
                            absl::Span<float> dx) const {
  const double factor = 2 * double{alpha} * double{beta};
  ForEachElement(*this, [=](int64_t at, int64_t first, int64_t last) {
    double shares = 0;
    for (int64_t i = first; i <= last; i += inner) {
      shares += double{dy[i]} * double{y[i]} / double{sums[i]};
    }
    dx[at] = static_cast<float>(double{dy[at]} * std::pow(double{sums[at]}, -double{beta}) -
                                factor * double{x[at]} * shares);
  });
}

}  // namespace fixpoint::kernels
