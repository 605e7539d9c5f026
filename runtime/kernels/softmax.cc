#include "runtime/kernels/softmax.h"

#include <glog/logging.h>

#include <cmath>
#include <cstdint>

#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/parallel_for.h"
#include "runtime/kernels/vector_math.h"

namespace fixpoint::kernels {
namespace {

constexpr float kLowestLogit = -64;

// How far apart the elements of a line are: a constant where they follow each other.
struct Adjacent {
  explicit Adjacent(int64_t) {}
  int64_t operator*(int64_t i) const { return i; }
};
struct Apart {
  explicit Apart(int64_t stride) : stride(stride) {}
  int64_t operator*(int64_t i) const { return stride * i; }
  int64_t stride;
};

template <typename Stride, typename F>
void ForEachLineOf(const Lines& lines, F f) {
  ParallelFor(lines.count(), 8 * lines.length,
              [=, stride = Stride(lines.inner)](int64_t begin, int64_t end) {
                for (int64_t line = begin; line < end; ++line) {
                  const int64_t outer = line / lines.inner;
                  const int64_t inner = line % lines.inner;
                  f(line, outer * lines.length * lines.inner + inner, stride);
                }
              });
}

// Calls f(line, start, stride) with each line.
template <typename F>
void ForEachLine(const Lines& lines, F f) {
  if (lines.inner == 0) return;
  if (lines.inner == 1) {
    ForEachLineOf<Adjacent>(lines, f);
  } else {
    ForEachLineOf<Apart>(lines, f);
  }
}

// A NaN compares as larger than nothing, so it does not count. GCC 12 makes vectors of 32 lanes,
// but unrolls a loop over 16.
template <typename Stride>
float Largest(const float* x, int64_t size, Stride stride) {
  constexpr int kLanes = 32;
  float lanes[kLanes];
  for (float& lane : lanes) lane = -INFINITY;
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const float element = x[stride * (i + lane)];
      lanes[lane] = element > lanes[lane] ? element : lanes[lane];
    }
  }
  for (; i < size; ++i) {
    const float element = x[stride * i];
    lanes[0] = element > lanes[0] ? element : lanes[0];
  }
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) {
      lanes[lane] = lanes[lane + width] > lanes[lane] ? lanes[lane + width] : lanes[lane];
    }
  }
  return lanes[0];
}

// By how much a logit is below the largest.
float Shifted(float logit, float largest) {
  const float shifted = logit - largest;
  return shifted < kLowestLogit ? kLowestLogit : shifted;
}

// e to the power of it.
float ExpOfShifted(float logit, float largest) {
  return ExpOfNegative(logit - largest, kLowestLogit);
}

// Makes y the softmax of one line. The sum of the exponentials that it divides by.
template <typename Stride>
double SoftmaxLine(const float* x, float largest, int64_t size, Stride stride, float* y) {
#pragma GCC ivdep  // y may be x
  for (int64_t i = 0; i < size; ++i) y[stride * i] = ExpOfShifted(x[stride * i], largest);
  const double sum = LaneSum(size, [=](int64_t i) { return y[stride * i]; });
  const float inverse = static_cast<float>(1.0 / sum);
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) y[stride * i] *= inverse;
  return sum;
}

void CheckSize(const Lines& lines, absl::Span<const float> elements) {
  CHECK_EQ(static_cast<int64_t>(elements.size()), lines.size());
}

void CheckCount(const Lines& lines, absl::Span<const float> of_lines) {
  CHECK_EQ(static_cast<int64_t>(of_lines.size()), lines.count());
}

}  // namespace

void Softmax(const Lines& lines, absl::Span<const float> x, absl::Span<float> y) {
  CheckSize(lines, x);
  CheckSize(lines, y);
  if (x.empty()) return;  // be there any number of lines
  ForEachLine(lines, [x = x.data(), y = y.data(), size = lines.length](int64_t, int64_t start,
                                                                       auto stride) {
    const float largest = Largest(x + start, size, stride);
    SoftmaxLine(x + start, largest, size, stride, y + start);
  });
}

void SoftmaxBackward(const Lines& lines, absl::Span<const float> y_span,
                     absl::Span<const float> dy_span, absl::Span<float> dx_span) {
  CheckSize(lines, y_span);
  CheckSize(lines, dy_span);
  CheckSize(lines, dx_span);
  if (y_span.empty()) return;
  ForEachLine(lines, [y_all = y_span.data(), dy_all = dy_span.data(), dx_all = dx_span.data(),
                      size = lines.length](int64_t, int64_t start, auto stride) {
    const float* const y = y_all + start;
    const float* const dy = dy_all + start;
    float* const dx = dx_all + start;
    const float dot = static_cast<float>(
        LaneSum(size, [=](int64_t i) { return y[stride * i] * dy[stride * i]; }));
#pragma GCC ivdep  // dx may be dy
    for (int64_t i = 0; i < size; ++i) dx[stride * i] = y[stride * i] * (dy[stride * i] - dot);
  });
}

void LogSoftmax(const Lines& lines, absl::Span<const float> x_span, absl::Span<float> y_span) {
  CheckSize(lines, x_span);
  CheckSize(lines, y_span);
  if (x_span.empty()) return;
  ForEachLine(lines, [x_all = x_span.data(), y_all = y_span.data(), size = lines.length](
                         int64_t, int64_t start, auto stride) {
    const float* const x = x_all + start;
    float* const y = y_all + start;
    const float largest = Largest(x, size, stride);
    const double sum =
        LaneSum(size, [=](int64_t i) { return ExpOfShifted(x[stride * i], largest); });
    const float log_sum = static_cast<float>(std::log(sum));
#pragma GCC ivdep  // y may be x
    for (int64_t i = 0; i < size; ++i) {
      y[stride * i] = Shifted(x[stride * i], largest) - log_sum;
    }
  });
}

void SoftmaxCrossEntropy(const Lines& lines, absl::Span<const float> logits, const Labels& labels,
                         absl::Span<float> softmax, absl::Span<float> loss) {
  CheckSize(lines, logits);
  CheckSize(lines, softmax);
  CheckCount(lines, loss);
  ForEachLine(lines, [=, x_all = logits.data(), y_all = softmax.data(), loss = loss.data(),
                      size = lines.length](int64_t line, int64_t start, auto stride) {
    const float* const x = x_all + start;
    const float largest = Largest(x, size, stride);
    const double sum = SoftmaxLine(x, largest, size, stride, y_all + start);
    const double log_sum = std::log(sum);
    if (labels.is_soft()) {
      const float* const shares = labels.soft.data() + start;
      loss[line] = static_cast<float>(LaneSum(size, [=](int64_t i) {
        const double share = shares[stride * i];
        const double part = share * (log_sum - double{Shifted(x[stride * i], largest)});
        return share != 0 ? part : 0.0;
      }));
    } else if (labels.IsIgnored(line)) {
      loss[line] = 0;
    } else {
      loss[line] =
          static_cast<float>(log_sum - double{Shifted(x[stride * labels.classes[line]], largest)});
    }
  });
}

void SoftmaxCrossEntropyBackward(const Lines& lines, absl::Span<const float> softmax,
                                 const Labels& labels, absl::Span<const float> dloss,
                                 absl::Span<float> dlogits) {
  CheckSize(lines, softmax);
  CheckSize(lines, dlogits);
  CheckCount(lines, dloss);
  ForEachLine(lines, [=, y_all = softmax.data(), dloss = dloss.data(), dx_all = dlogits.data(),
                      size = lines.length](int64_t line, int64_t start, auto stride) {
    const float* const y = y_all + start;
    float* const dx = dx_all + start;
    const float gradient = dloss[line];
    if (labels.is_soft()) {
      const float* const shares = labels.soft.data() + start;
#pragma GCC ivdep  // dlogits may be softmax
      for (int64_t i = 0; i < size; ++i) {
        dx[stride * i] = (y[stride * i] - shares[stride * i]) * gradient;
      }
      return;
    }
    if (labels.IsIgnored(line)) {
      for (int64_t i = 0; i < size; ++i) dx[stride * i] = 0;
      return;
    }
    const int64_t at_class = stride * labels.classes[line];
    const float of_class = (y[at_class] - 1.0f) * gradient;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) dx[stride * i] = y[stride * i] * gradient;
    dx[at_class] = of_class;
  });
}

}  // namespace fixpoint::kernels
