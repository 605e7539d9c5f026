#include "runtime/kernels/prelu.h"

#include <glog/logging.h>

#include <algorithm>

#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

// to[i] = value(slope, i) for all elements; `to` may be what `value` reads.
template <typename Value>
void Map(const PreluShape& shape, const float* slopes, float* to, Value value) {
  constexpr int64_t kBytes = 12;
  if (shape.slopes == 1) {
    return ParallelFor(shape.size(), kBytes, [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) to[i] = value(slopes[0], i);
    });
  }
  if (shape.inner == 1) {
    return ParallelFor(shape.outer, kBytes * shape.slopes, [=](int64_t begin, int64_t end) {
      for (int64_t first = begin * shape.slopes; first < end * shape.slopes;
           first += shape.slopes) {
#pragma GCC ivdep
        for (int64_t c = 0; c < shape.slopes; ++c) to[first + c] = value(slopes[c], first + c);
      }
    });
  }
  ParallelFor(shape.outer * shape.slopes, kBytes * shape.inner, [=](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const float slope = slopes[line % shape.slopes];
#pragma GCC ivdep
      for (int64_t i = line * shape.inner; i < (line + 1) * shape.inner; ++i) {
        to[i] = value(slope, i);
      }
    }
  });
}

void CheckSizes(const PreluShape& shape, absl::Span<const float> x, absl::Span<const float> slopes,
                absl::Span<const float> y) {
  CHECK_EQ(static_cast<int64_t>(x.size()), shape.size());
  CHECK_EQ(static_cast<int64_t>(y.size()), shape.size());
  CHECK_EQ(static_cast<int64_t>(slopes.size()), shape.slopes);
}

}  // namespace

void Prelu(const PreluShape& shape, absl::Span<const float> x, absl::Span<const float> slopes,
           absl::Span<float> y) {
  CheckSizes(shape, x, slopes, y);
  Map(shape, slopes.data(), y.data(),
      [x = x.data()](float slope, int64_t i) { return x[i] * (x[i] > 0.0f ? 1.0f : slope); });
}

void PreluBackward(const PreluShape& shape, absl::Span<const float> x,
                   absl::Span<const float> slopes, absl::Span<const float> dy,
                   absl::Span<float> dx) {
  CheckSizes(shape, x, slopes, dy);
  CHECK_EQ(dx.size(), dy.size());
  Map(shape, slopes.data(), dx.data(), [x = x.data(), dy = dy.data()](float slope, int64_t i) {
    return dy[i] * (x[i] > 0.0f ? 1.0f : slope);
  });
}

void PreluBackwardSlopes(const PreluShape& shape, absl::Span<const float> x,
                         absl::Span<const float> dy, absl::Span<double> sums,
                         absl::Span<float> dslopes) {
  CheckSizes(shape, x, dslopes, dy);
  CHECK_EQ(sums.size(), dslopes.size());
  std::fill(sums.begin(), sums.end(), 0.0);
  const auto term = [x = x.data(), dy = dy.data()](int64_t i) {
    const float product =
        dy[i] * x[i];  // both sides are computed before one is chosen: lane_sums.h
    return x[i] > 0.0f ? 0.0f : product;
  };
  if (shape.slopes == 1) {
    sums[0] = ParallelSum(shape.size(), 8, term);
  } else {
    // Threads write different slopes.
    ParallelFor(shape.slopes, 8 * shape.outer * shape.inner,
                [=, sums = sums.data()](int64_t begin, int64_t end) {
                  if (shape.inner == 1) {
                    for (int64_t first = 0; first < shape.size(); first += shape.slopes) {
#pragma GCC ivdep
                      for (int64_t c = begin; c < end; ++c) {
                        sums[c] += static_cast<double>(term(first + c));
                      }
                    }
                    return;
                  }
                  for (int64_t line = 0; line < shape.outer * shape.slopes; line += shape.slopes) {
                    for (int64_t c = begin; c < end; ++c) {
                      const int64_t first = (line + c) * shape.inner;
                      sums[c] += LaneSum(shape.inner, [=](int64_t i) { return term(first + i); });
                    }
                  }
                });
  }
  std::transform(sums.begin(), sums.end(), dslopes.begin(),
                 [](double sum) { return static_cast<float>(sum); });
}

}  // namespace fixpoint::kernels
