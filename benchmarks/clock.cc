#include "benchmarks/clock.h"

#include <ctime>

namespace fixpoint {
namespace {

double SecondsOf(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double CpuSeconds() { return SecondsOf(CLOCK_PROCESS_CPUTIME_ID); }
double WallSeconds() { return SecondsOf(CLOCK_MONOTONIC); }

}  // namespace fixpoint
