#include "runtime/kernels/threads.h"

#include <glog/logging.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "runtime/kernels/machine.h"

// Functions of the thread sanitizer, if it is linked. It does not know that OpenMP's threads start
// after everything before the loop, and finish before everything after it.
extern "C" {
__attribute__((weak)) void __tsan_acquire(void* place);
__attribute__((weak)) void __tsan_release(void* place);
}

namespace fixpoint::kernels {
namespace {

void Release(char* place) {
  if (__tsan_release != nullptr) __tsan_release(place);
}

void Acquire(char* place) {
  if (__tsan_acquire != nullptr) __tsan_acquire(place);
}

}  // namespace

void UseThreads(int count) {
  CHECK_GE(count, 1);
  omp_set_num_threads(count);
}

int GrantedThreads() { return omp_get_max_threads(); }

int ThreadsFor(int64_t size, int64_t bytes_of_each) {
  const int64_t most = std::min<int64_t>(size, GrantedThreads());
  return static_cast<int>(
      std::max<int64_t>(1, std::min(most, size * bytes_of_each / kBytesOfThread)));
}

void RunOnThreads(int threads, int64_t size, absl::FunctionRef<void(int, int64_t, int64_t)> f) {
  if (threads == 1) return f(0, 0, size);
  char begin;
  char end;
  // An exception must not leave the loop: the first one is thrown again after it.
  std::atomic<bool> has_thrown{false};
  std::exception_ptr thrown;
  Release(&begin);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int i = 0; i < threads; ++i) {
    Acquire(&begin);
    try {
      f(i, size * i / threads, size * (i + 1) / threads);
    } catch (...) {
      if (!has_thrown.exchange(true)) thrown = std::current_exception();
    }
    Release(&end);
  }
  Acquire(&end);
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

void RunAlone(int64_t parts, absl::FunctionRef<void(int64_t)> f) {
  const auto threads = static_cast<int>(std::min<int64_t>(parts, GrantedThreads()));
  RunOnThreads(threads, parts, [&](int, int64_t begin, int64_t end) {
    const ThreadsInUse one(1);
    for (int64_t part = begin; part < end; ++part) f(part);
  });
}

}  // namespace fixpoint::kernels
