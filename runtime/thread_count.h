// How many threads a run may be granted.

#ifndef FIXPOINT_RUNTIME_THREAD_COUNT_H_
#define FIXPOINT_RUNTIME_THREAD_COUNT_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {

// More than any one machine has cores. OpenMP ends the process where the system grants it fewer
// threads than it asks for.
inline constexpr int kMostThreads = 1024;

// Error (kInvalidArgument): fewer than 1, or more than those.
inline absl::Status CheckThreadCount(int threads) {
  if (threads >= 1 && threads <= kMostThreads) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("threads is ", threads, "; want 1 to ", kMostThreads));
}

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_THREAD_COUNT_H_
