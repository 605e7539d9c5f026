#include "runtime/kernels/threads.h"

#include <glog/logging.h>
#include <omp.h>

namespace fixpoint::kernels {

void UseThreads(int count) {
  CHECK_GE(count, 1);
  omp_set_num_threads(count);
}

}  // namespace fixpoint::kernels
