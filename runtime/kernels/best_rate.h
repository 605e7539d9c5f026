// How fast the machine does something, measured.

#ifndef FIXPOINT_RUNTIME_KERNELS_BEST_RATE_H_
#define FIXPOINT_RUNTIME_KERNELS_BEST_RATE_H_

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace fixpoint::kernels {

// The best of some runs, per second of what `run` says it has done.
template <typename Run>
double BestRate(Run run) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const double done = run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, done / seconds.count());
  }
  return best;
}

// Bytes per second, read and written, of copies of so many bytes, `copies` of them at a time.
double CopyRate(size_t bytes, int copies);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_BEST_RATE_H_
