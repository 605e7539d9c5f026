// The threads that kernels run on: those of OpenMP, which oneDNN's are.

#ifndef FIXPOINT_RUNTIME_KERNELS_THREADS_H_
#define FIXPOINT_RUNTIME_KERNELS_THREADS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace fixpoint::kernels {

// Kernels that this thread plans and runs from now on use this many threads. Planning and running
// have to agree, because oneDNN splits the work when it plans. What it would split along sums is
// cut into parts that their shape decides (RunAlone), so that any number gives the same bits.
// What only moves elements need not agree, as its bits are the same however it is split: Reordering
// (onednn.h) and LayoutConversion::Plan (layout.h) plan for the threads that its bytes are worth.
// REQUIRES: 1 or more.
void UseThreads(int count);

// The number that was given last, or one for each core.
int GrantedThreads();

// Uses so many threads until it ends, and then as many as before: the setting is OpenMP's, and so
// the host's too.
class ThreadsInUse {
 public:
  explicit ThreadsInUse(int count) : before_(GrantedThreads()) { UseThreads(count); }
  ~ThreadsInUse() { UseThreads(before_); }
  ThreadsInUse(const ThreadsInUse&) = delete;
  ThreadsInUse& operator=(const ThreadsInUse&) = delete;

 private:
  const int before_;
};

// How many of the granted threads a loop is worth; each i of [0, size) reads and writes so many
// bytes.
int ThreadsFor(int64_t size, int64_t bytes_of_each);

// Calls f(thread, begin, end) on each of `threads` threads, with its part of [0, size). REQUIRES: 1
// or more.
void RunOnThreads(int threads, int64_t size, absl::FunctionRef<void(int, int64_t, int64_t)> f);

// Calls f(i) for each part i of [0, parts) on the granted threads. oneDNN has one thread in f, for
// primitives that were planned for one.
void RunAlone(int64_t parts, absl::FunctionRef<void(int64_t)> f);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_THREADS_H_
