// Measures how fast the machine does something.

#ifndef FIXPOINT_RUNTIME_KERNELS_BEST_RATE_H_
#define FIXPOINT_RUNTIME_KERNELS_BEST_RATE_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace fixpoint::kernels {

// The rate per second of the work that `run` returns.
template <typename Run>
double RateOf(Run& run) {
  const auto begin = std::chrono::steady_clock::now();
  const double done = run();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return done / seconds.count();
}

// The best of some runs.
template <typename Run>
double BestRate(Run run) {
  double best = 0;
  for (int i = 0; i < 5; ++i) best = std::max(best, RateOf(run));
  return best;
}

// The same for two things that are compared. They run in turn, so that other work on the machine
// affects both alike; runs of a millisecond or two find a moment without any.
template <typename Run, typename OtherRun>
std::pair<double, double> BestRates(Run run, OtherRun other) {
  std::pair<double, double> best = {0, 0};
  for (int i = 0; i < 20; ++i) {
    best.first = std::max(best.first, RateOf(run));
    best.second = std::max(best.second, RateOf(other));
  }
  return best;
}

// Bytes per second, read and written, of copies of `bytes` bytes, `copies` of them at a time.
double CopyRate(size_t bytes, int copies);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_BEST_RATE_H_
