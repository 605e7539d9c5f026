#include "runtime/kernels/machine.h"

#include <unistd.h>

#include <algorithm>

namespace fixpoint::kernels {
namespace {

// In bytes; `unknown` where the system does not know. A virtual machine may report any size.
int64_t CacheSize(int name, int64_t least, int64_t most, int64_t unknown) {
  const int64_t reported = sysconf(name);
  return reported <= 0 ? unknown : std::clamp(reported, least, most);
}

Machine Ask() {
  Machine machine;
  machine.first_cache = CacheSize(_SC_LEVEL1_DCACHE_SIZE, 16 << 10, 128 << 10, machine.first_cache);
  machine.second_cache = CacheSize(_SC_LEVEL2_CACHE_SIZE, 256 << 10, 4 << 20, machine.second_cache);
  // A copy of more than 256 MiB would take longer than it is worth.
  machine.last_cache = CacheSize(_SC_LEVEL3_CACHE_SIZE, 32 << 20, 128 << 20, machine.last_cache);
  return machine;
}

}  // namespace

const Machine& ThisMachine() {
  static const Machine machine = Ask();
  return machine;
}

}  // namespace fixpoint::kernels
