#include "runtime/kernels/linear_chain_crf.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

// The sequence in probabilities: each tag's score is divided by the largest of its step, and each
// column of the transitions by its largest, so that nothing overflows. What is more than e^-700
// times that counts as impossible.
struct Scaled {
  double* alpha;       // [length, tags]: shares of the paths that end in each tag
  double* emission;    // [length, tags]
  double* transition;  // [tags, tags]
  double* largest;     // [tags]: the logarithms of what columns are divided by
  double* beta;        // [tags]
  double* next;        // [tags]
};

Scaled Divide(absl::Span<double> scratch, const CrfSequence& s) {
  CHECK_GE(static_cast<int64_t>(scratch.size()), CrfScratchSize(s.length, s.tags));
  Scaled scaled;
  scaled.alpha = scratch.data();
  scaled.emission = scaled.alpha + s.length * s.tags;
  scaled.transition = scaled.emission + s.length * s.tags;
  scaled.largest = scaled.transition + s.tags * s.tags;
  scaled.beta = scaled.largest + s.tags;
  scaled.next = scaled.beta + s.tags;
  return scaled;
}

// Divides by the sum, and returns it.
double Normalise(int64_t size, double* values) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += values[i];
  const double factor = 1 / sum;
  for (int64_t i = 0; i < size; ++i) values[i] *= factor;
  return sum;
}

// out[j] = the sum over i of x[i] * matrix[i, j], row by row.
void Multiply(int64_t size, const double* x, const double* matrix, double* out) {
  Vectorised([=] {
    std::fill_n(out, size, 0.0);
    for (int64_t i = 0; i < size; ++i) {
#pragma GCC ivdep
      for (int64_t j = 0; j < size; ++j) out[j] += x[i] * matrix[i * size + j];
    }
  });
}

void ScaleTransitions(const CrfSequence& s, const Scaled& scaled) {
  const float* const from = s.transition + 2 * s.tags;
  for (int64_t j = 0; j < s.tags; ++j) {
    double largest = from[j];
    for (int64_t i = 1; i < s.tags; ++i) {
      largest = std::max<double>(largest, from[i * s.tags + j]);
    }
    scaled.largest[j] = largest;
  }
  for (int64_t i = 0; i < s.tags; ++i) {
    for (int64_t j = 0; j < s.tags; ++j) {
      scaled.transition[i * s.tags + j] = std::exp(from[i * s.tags + j] - scaled.largest[j]);
    }
  }
}

// Fills in emissions and alpha, and returns the logarithm of the sum over all paths.
double SumPaths(const CrfSequence& s, const Scaled& scaled) {
  const int64_t tags = s.tags;
  ScaleTransitions(s, scaled);
  double log_sum = 0;
  for (int64_t t = 0; t < s.length; ++t) {
    const float* const row = s.emission + t * tags;
    double* const e = scaled.emission + t * tags;
    double* const alpha = scaled.alpha + t * tags;
    for (int64_t j = 0; j < tags; ++j) {
      e[j] = static_cast<double>(row[j]) + (t == 0 ? s.transition[j] : scaled.largest[j]);
    }
    const double largest = *std::max_element(e, e + tags);
    for (int64_t j = 0; j < tags; ++j) e[j] = std::exp(e[j] - largest);
    if (t == 0) {
      std::copy_n(e, tags, alpha);
    } else {
      Multiply(tags, alpha - tags, scaled.transition, alpha);
      for (int64_t j = 0; j < tags; ++j) alpha[j] *= e[j];
    }
    log_sum += largest + std::log(Normalise(tags, alpha));
  }
  const float* const end = s.transition + tags;
  const double* const alpha = scaled.alpha + (s.length - 1) * tags;
  const double largest = *std::max_element(end, end + tags);
  double sum = 0;
  for (int64_t j = 0; j < tags; ++j) {
    scaled.beta[j] = std::exp(end[j] - largest);
    sum += alpha[j] * scaled.beta[j];
  }
  return log_sum + largest + std::log(sum);
}

double ScoreOf(const CrfSequence& s, const int64_t* labels) {
  double score = s.transition[labels[0]];
  for (int64_t t = 0; t < s.length; ++t) {
    score += s.emission[t * s.tags + labels[t]];
    if (t > 0) score += s.transition[(2 + labels[t - 1]) * s.tags + labels[t]];
  }
  return score + s.transition[s.tags + labels[s.length - 1]];
}

}  // namespace

float CrfLoss(const CrfSequence& sequence, const int64_t* labels, absl::Span<double> scratch) {
  const Scaled scaled = Divide(scratch, sequence);
  return static_cast<float>(SumPaths(sequence, scaled) - ScoreOf(sequence, labels));
}

void CrfLossBackward(const CrfSequence& sequence, const int64_t* labels, float dloss,
                     absl::Span<double> scratch, float* demission, double* dtransition) {
  const int64_t tags = sequence.tags;
  const Scaled scaled = Divide(scratch, sequence);
  SumPaths(sequence, scaled);
  double* const beta = scaled.beta;
  double* const next = scaled.next;
  for (int64_t t = sequence.length - 1; t >= 0; --t) {
    const double* const alpha = scaled.alpha + t * tags;
    // The shares of all paths that have each tag here.
    double sum = 0;
    for (int64_t j = 0; j < tags; ++j) sum += alpha[j] * beta[j];
    for (int64_t j = 0; j < tags; ++j) {
      const double share = dloss * (alpha[j] * beta[j] / sum);
      demission[t * tags + j] = static_cast<float>(share - (j == labels[t] ? dloss : 0));
      if (t == 0) dtransition[j] += share;
      if (t == sequence.length - 1) dtransition[tags + j] += share;
    }
    if (t == 0) break;
    // next[j] is what comes from tag j on, with its emission.
    const double* const before = alpha - tags;
    const double* const e = scaled.emission + t * tags;
    for (int64_t j = 0; j < tags; ++j) next[j] = e[j] * beta[j];
    double pairs = 0;
    for (int64_t i = 0; i < tags; ++i) {
      const double* const row = scaled.transition + i * tags;
      double from_i = 0;
      for (int64_t j = 0; j < tags; ++j) from_i += row[j] * next[j];
      beta[i] = from_i;
      pairs += before[i] * from_i;
    }
    const double factor = dloss / pairs;
    double* const d = dtransition + 2 * tags;
    Vectorised([=, transition = scaled.transition] {
      for (int64_t i = 0; i < tags; ++i) {
        const double share = before[i] * factor;
#pragma GCC ivdep
        for (int64_t j = 0; j < tags; ++j) {
          d[i * tags + j] += share * transition[i * tags + j] * next[j];
        }
      }
    });
    d[labels[t - 1] * tags + labels[t]] -= dloss;
    Normalise(tags, beta);
  }
  dtransition[labels[0]] -= dloss;
  dtransition[tags + labels[sequence.length - 1]] -= dloss;
}

void CrfDecode(const CrfSequence& sequence, absl::Span<float> scratch, absl::Span<int64_t> before,
               int64_t* path) {
  const int64_t tags = sequence.tags;
  CHECK_GE(static_cast<int64_t>(scratch.size()), 2 * tags);
  CHECK_GE(static_cast<int64_t>(before.size()), sequence.length * tags);
  float* score = scratch.data();
  float* next = score + tags;
  for (int64_t j = 0; j < tags; ++j) score[j] = sequence.transition[j] + sequence.emission[j];
  for (int64_t t = 1; t < sequence.length; ++t) {
    const float* const from = sequence.transition + 2 * tags;
    const float* const emission = sequence.emission + t * tags;
    int64_t* const best = before.data() + t * tags;
    Vectorised([=] {
      for (int64_t j = 0; j < tags; ++j) next[j] = score[0] + from[j];
      std::fill_n(best, tags, int64_t{0});
      for (int64_t i = 1; i < tags; ++i) {
#pragma GCC ivdep
        for (int64_t j = 0; j < tags; ++j) {
          const float candidate = score[i] + from[i * tags + j];
          const bool is_better = candidate > next[j];
          next[j] = is_better ? candidate : next[j];
          best[j] = is_better ? i : best[j];
        }
      }
#pragma GCC ivdep
      for (int64_t j = 0; j < tags; ++j) next[j] += emission[j];
    });
    std::swap(score, next);
  }
  const float* const end = sequence.transition + tags;
  int64_t last = 0;
  for (int64_t j = 1; j < tags; ++j) {
    if (score[j] + end[j] > score[last] + end[last]) last = j;
  }
  for (int64_t t = sequence.length - 1; t >= 0; --t) {
    path[t] = last;
    if (t > 0) last = before[t * tags + last];
  }
}

}  // namespace fixpoint::kernels
