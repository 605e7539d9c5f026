// A row-major tensor seen along one of its axes.

#ifndef FIXPOINT_RUNTIME_KERNELS_LINES_H_
#define FIXPOINT_RUNTIME_KERNELS_LINES_H_

#include <cstdint>

namespace fixpoint::kernels {

// [outer, length, inner]: a line is the elements of one (outer, inner), `inner` apart from each
// other.
struct Lines {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;

  int64_t count() const { return outer * inner; }
  int64_t size() const { return outer * length * inner; }
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_LINES_H_
