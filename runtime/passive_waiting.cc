#include "runtime/passive_waiting.h"

#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace fixpoint {

void WaitPassively(const char* const* argv) {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    if (std::getenv(name) != nullptr) return;
  }
  if (setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0) != 0) return;
  execv("/proc/self/exe", const_cast<char* const*>(argv));
}

}  // namespace fixpoint
