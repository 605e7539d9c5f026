// Kernels that are planned and not made. To make what oneDNN runs, which compiles it, is most of
// the time that planning a convolution or a product takes; where plans are made of which parts are
// thrown away, it is left to the end.

#ifndef FIXPOINT_RUNTIME_KERNELS_DEFERRED_PRIMITIVES_H_
#define FIXPOINT_RUNTIME_KERNELS_DEFERRED_PRIMITIVES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"

namespace fixpoint::kernels {

class Primitive;

// While one lives, the primitives of kernels that its thread plans are left out; a kernel that runs
// before Make makes its own. One lives inside of another's life, or beside it.
class DeferredPrimitives {
 public:
  DeferredPrimitives();
  ~DeferredPrimitives();
  DeferredPrimitives(const DeferredPrimitives&) = delete;
  DeferredPrimitives& operator=(const DeferredPrimitives&) = delete;

  // Makes those of the kernels that are still there. Errors: kUnimplemented: oneDNN has none after
  // all; kFailedPrecondition: no memory.
  absl::Status Make();

 private:
  friend class Primitive;

  DeferredPrimitives* const outer_;
  std::vector<std::weak_ptr<Primitive>> primitives_;
};

// How many primitives this thread has made.
int64_t PrimitivesMade();

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_DEFERRED_PRIMITIVES_H_
