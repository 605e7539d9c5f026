#include "runtime/kernels/cross_entropy.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "runtime/kernels/parallel_for.h"
#include "runtime/kernels/vector_math.h"

namespace fixpoint::kernels {
namespace {

// The loss that the reference uses for a probability of 0.
constexpr double kInfiniteLoss = 1e20;

double LossOf(float probability) {
  const double loss = -std::log(double{probability});
  return std::isinf(loss) && loss > 0 ? kInfiniteLoss : loss;
}

void CheckSizes(const Lines& lines, absl::Span<const float> elements,
                absl::Span<const float> of_lines) {
  CHECK_EQ(static_cast<int64_t>(elements.size()), lines.size());
  CHECK_EQ(static_cast<int64_t>(of_lines.size()), lines.count());
}

// Where the first element of a line is.
int64_t StartOf(const Lines& lines, int64_t line) {
  return line / lines.inner * lines.length * lines.inner + line % lines.inner;
}

// Calls f(line, place) with the place of the class of each line that is not ignored.
template <typename F>
void ForEachMatch(const Lines& lines, const Labels& labels, F f) {
  CHECK(!labels.is_soft());
  for (int64_t line = 0; line < lines.count(); ++line) {
    if (labels.IsIgnored(line)) continue;
    f(line, StartOf(lines, line) + labels.classes[line] * lines.inner);
  }
}

}  // namespace

void CrossEntropy(const Lines& lines, absl::Span<const float> x, const Labels& labels,
                  absl::Span<float> loss) {
  CheckSizes(lines, x, loss);
  if (!labels.is_soft()) {
    std::fill(loss.begin(), loss.end(), 0.0f);
    ForEachMatch(lines, labels, [&](int64_t line, int64_t place) {
      loss[line] = static_cast<float>(LossOf(x[place]));
    });
    return;
  }
  for (int64_t line = 0; line < lines.count(); ++line) {
    double sum = 0;
    for (int64_t i = 0; i < lines.length; ++i) {
      const int64_t place = StartOf(lines, line) + i * lines.inner;
      const double share = labels.soft[place];
      if (share != 0) sum += share * LossOf(x[place]);
    }
    loss[line] = static_cast<float>(sum);
  }
}

void CrossEntropyBackward(const Lines& lines, absl::Span<const float> x, const Labels& labels,
                          absl::Span<const float> dloss, absl::Span<float> dx) {
  CheckSizes(lines, x, dloss);
  CHECK_EQ(dx.size(), x.size());
  std::fill(dx.begin(), dx.end(), 0.0f);
  if (!labels.is_soft()) {
    ForEachMatch(lines, labels,
                 [&](int64_t line, int64_t place) { dx[place] = -dloss[line] / x[place]; });
    return;
  }
  for (int64_t line = 0; line < lines.count(); ++line) {
    for (int64_t i = 0; i < lines.length; ++i) {
      const int64_t place = StartOf(lines, line) + i * lines.inner;
      const float share = labels.soft[place];
      if (share != 0) dx[place] = -share * dloss[line] / x[place];
    }
  }
}

void MatchedProbabilities(const Lines& lines, absl::Span<const float> x, const Labels& labels,
                          absl::Span<float> matched) {
  CheckSizes(lines, x, matched);
  std::fill(matched.begin(), matched.end(), 0.0f);
  ForEachMatch(lines, labels, [&](int64_t line, int64_t place) { matched[line] = x[place]; });
}

void MatchedCrossEntropyBackward(const Lines& lines, absl::Span<const float> matched,
                                 const Labels& labels, absl::Span<const float> dloss,
                                 absl::Span<float> dx) {
  CheckSizes(lines, dx, dloss);
  CHECK_EQ(matched.size(), dloss.size());
  std::fill(dx.begin(), dx.end(), 0.0f);
  ForEachMatch(lines, labels,
               [&](int64_t line, int64_t place) { dx[place] = -dloss[line] / matched[line]; });
}

void SigmoidCrossEntropy(absl::Span<const float> x, absl::Span<const float> labels, float ignored,
                         absl::Span<float> loss) {
  CHECK_EQ(labels.size(), x.size());
  CHECK_EQ(loss.size(), x.size());
  ParallelFor(
      x.size(), 12,
      [=, x = x.data(), labels = labels.data(), loss = loss.data()](int64_t begin, int64_t end) {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) {
          const float label = labels[i];
          const float rest = Log1pOfShare(Exp(-__builtin_fabsf(x[i])));
          const float value = ((x[i] > 0.0f ? x[i] : 0.0f) - x[i] * label) + rest;
          loss[i] = label == ignored ? 0.0f : value;
        }
      });
}

}  // namespace fixpoint::kernels
