#include "runtime/kernels/ctc_loss.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/vector_math.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

// log(e^a + e^b).
double LogAdd(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == -INFINITY ? a : a + std::log1p(std::exp(b - a));
}

// The softmax of a step goes to `share`; returns the logarithm of its denominator.
double Softmax(int64_t classes, const float* logits, float* share) {
  double result = 0;
  Vectorised([=, log_sum = &result] {
    float largest = logits[0];
    for (int64_t k = 1; k < classes; ++k) largest = logits[k] > largest ? logits[k] : largest;
    for (int64_t k = 0; k < classes; ++k) share[k] = Exp(logits[k] - largest);
    const double sum = LaneSum(classes, [=](int64_t k) { return share[k]; });
    const float factor = static_cast<float>(1 / sum);
    for (int64_t k = 0; k < classes; ++k) share[k] *= factor;
    *log_sum = largest + std::log(sum);
  });
  return result;
}

// The labels with a blank before, between and after them.
class Extended {
 public:
  explicit Extended(const CtcSequence& sequence) : sequence_(sequence) {}

  int64_t size() const { return 2 * sequence_.label_count + 1; }
  int64_t ClassAt(int64_t i) const {
    return i % 2 == 0 ? sequence_.blank : sequence_.labels[i / 2];
  }
  // Whether the label two places before may be followed by this one, without the blank between.
  bool MaySkip(int64_t i) const { return i % 2 == 1 && i > 1 && ClassAt(i) != ClassAt(i - 2); }
  // How many steps the labels take at least.
  int64_t fewest_steps() const {
    int64_t steps = sequence_.label_count;
    for (int64_t i = 3; i < size(); i += 2) steps += ClassAt(i) == ClassAt(i - 2) ? 1 : 0;
    return steps;
  }

 private:
  const CtcSequence& sequence_;
};

}  // namespace

float CtcLoss(const CtcSequence& s, absl::Span<double> scratch, float* gradient) {
  CHECK_GE(static_cast<int64_t>(scratch.size()), CtcScratchSize(s.steps, s.label_count));
  const Extended labels(s);
  const int64_t size = labels.size();
  const auto clear = [&] {
    for (int64_t t = 0; t < s.steps; ++t)
      std::fill_n(gradient + t * s.gradient_stride, s.classes, 0.0f);
    return 0.0f;
  };
  if (s.steps == 0 || labels.fewest_steps() > s.steps) return clear();
  double* const alpha = scratch.data();  // [steps, size], logarithms
  double* const logs = alpha + s.steps * size;
  double* beta = logs + s.steps * size;
  double* next = beta + size;
  std::fill(scratch.begin(), scratch.end(), -INFINITY);
  for (int64_t t = 0; t < s.steps; ++t) {
    const float* const logits = s.logits + t * s.logits_stride;
    const double log_sum = Softmax(s.classes, logits, gradient + t * s.gradient_stride);
    for (int64_t i = 0; i < size; ++i) logs[t * size + i] = logits[labels.ClassAt(i)] - log_sum;
  }
  for (int64_t t = 0; t < s.steps; ++t) {
    double* const now = alpha + t * size;
    const double* const before = now - size;
    for (int64_t i = 0; i < size; ++i) {
      double sum = t == 0 && i < 2 ? 0 : -INFINITY;
      if (t > 0) {
        sum = before[i];
        if (i > 0) sum = LogAdd(sum, before[i - 1]);
        if (labels.MaySkip(i)) sum = LogAdd(sum, before[i - 2]);
      }
      now[i] = sum + logs[t * size + i];
    }
  }
  const double* const last = alpha + (s.steps - 1) * size;
  const double log_p = size > 1 ? LogAdd(last[size - 1], last[size - 2]) : last[0];
  // beta[i]: from place i on, after this step.
  beta[size - 1] = 0;
  if (size > 1) beta[size - 2] = 0;
  for (int64_t t = s.steps - 1; t >= 0; --t) {
    for (int64_t i = 0; i < size; ++i) {
      gradient[t * s.gradient_stride + labels.ClassAt(i)] -=
          static_cast<float>(std::exp(alpha[t * size + i] + beta[i] - log_p));
    }
    if (t == 0) break;
    const double* const log = logs + t * size;
    for (int64_t i = 0; i < size; ++i) {
      double sum = beta[i] + log[i];
      if (i + 1 < size) sum = LogAdd(sum, beta[i + 1] + log[i + 1]);
      if (i + 2 < size && labels.MaySkip(i + 2)) sum = LogAdd(sum, beta[i + 2] + log[i + 2]);
      next[i] = sum;
    }
    std::swap(beta, next);
  }
  return static_cast<float>(-log_p);
}

}  // namespace fixpoint::kernels
