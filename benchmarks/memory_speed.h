// How fast a loop reads and writes memory, on one thread.

#ifndef FIXPOINT_BENCHMARKS_MEMORY_SPEED_H_
#define FIXPOINT_BENCHMARKS_MEMORY_SPEED_H_

#include <algorithm>
#include <cstddef>
#include <ctime>

namespace fixpoint {

inline double ProcessorSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Bytes per second of a run that reads and writes so many, in units of 1e9; the best of the rounds.
template <typename Run>
double MemorySpeed(size_t bytes, Run run) {
  constexpr int kRounds = 7;
  const int repetitions = static_cast<int>(std::max<size_t>(1, (size_t{256} << 20) / bytes));
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = ProcessorSeconds();
    for (int i = 0; i < repetitions; ++i) run();
    const double seconds = ProcessorSeconds() - start;
    best = std::max(best, static_cast<double>(bytes) * repetitions / seconds * 1e-9);
  }
  return best;
}

}  // namespace fixpoint

#endif  // FIXPOINT_BENCHMARKS_MEMORY_SPEED_H_
