#include "runtime/kernels/threads.h"

#include <glog/logging.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

namespace fixpoint::kernels {
namespace {

// Processors that a quota pays for, rounded up; no limit where none is told. "max 100000" or
// "150000 100000": microseconds of time in each period.
int QuotaOf(const std::string& file) {
  std::ifstream in(file);
  std::string quota;
  double period = 0;
  if (!(in >> quota >> period) || quota == "max" || period <= 0) {
    return std::numeric_limits<int>::max();
  }
  return static_cast<int>(std::ceil(std::atof(quota.c_str()) / period));
}

}  // namespace

void UseThreads(int count) {
  CHECK_GE(count, 1);
  omp_set_num_threads(count);
}

int GrantedThreads() {
  cpu_set_t processors;
  int granted = 1;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0) {
    granted = CPU_COUNT(&processors);
  }
  return std::max(1, std::min(granted, QuotaOf("/sys/fs/cgroup/cpu.max")));
}

}  // namespace fixpoint::kernels
