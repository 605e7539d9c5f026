// The memory that the process uses.

#ifndef FIXPOINT_RUNTIME_PEAK_MEMORY_H_
#define FIXPOINT_RUNTIME_PEAK_MEMORY_H_

#include <cstdint>

namespace fixpoint {

// The most bytes that the process has had in memory since its program began: VmHWM of proc(5).
// getrusage includes those of the process that started it. 0 if /proc does not have it.
int64_t PeakMemoryBytes();

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_PEAK_MEMORY_H_
