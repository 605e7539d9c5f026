// Kernels that are planned but not created. Creating a oneDNN primitive compiles it, which is most
// of the time that planning a convolution or a product takes; where parts of plans are thrown away,
// creation is deferred to the end.

#ifndef FIXPOINT_RUNTIME_KERNELS_DEFERRED_PRIMITIVES_H_
#define FIXPOINT_RUNTIME_KERNELS_DEFERRED_PRIMITIVES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"

namespace fixpoint::kernels {

class Primitive;

// While an object exists, the primitives of kernels that its thread plans are deferred; a kernel
// that runs before Make creates its own. Lifetimes may nest, or lie side by side.
class DeferredPrimitives {
 public:
  DeferredPrimitives();
  ~DeferredPrimitives();
  DeferredPrimitives(const DeferredPrimitives&) = delete;
  DeferredPrimitives& operator=(const DeferredPrimitives&) = delete;

  // Creates the primitives of the kernels that still exist. Errors: kUnimplemented: oneDNN has none
  // after all; kFailedPrecondition: no memory.
  absl::Status Make();

 private:
  friend class Primitive;

  DeferredPrimitives* const outer_;
  std::vector<std::weak_ptr<Primitive>> primitives_;
};

// How many primitives this thread has created.
int64_t PrimitivesMade();

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_DEFERRED_PRIMITIVES_H_
