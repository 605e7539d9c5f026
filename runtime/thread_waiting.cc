#include "runtime/thread_waiting.h"

#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace fixpoint {
namespace {

// About 20 us.
constexpr char kSpins[] = "2000";

}  // namespace

void SpinBriefly(const char* const* argv) {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    if (std::getenv(name) != nullptr) return;
  }
  if (setenv("GOMP_SPINCOUNT", kSpins, /*overwrite=*/0) != 0) return;
  execv("/proc/self/exe", const_cast<char* const*>(argv));
}

}  // namespace fixpoint
