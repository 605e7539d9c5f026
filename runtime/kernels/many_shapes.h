// Kernels for programs that are run on tensors of many shapes. What oneDNN compiles is for one
// shape; where a kernel can be composed of such parts of few sizes, or of loops that take the shape
// when they run, a new shape compiles nothing. For a single shape that would be a little slower.

#ifndef FIXPOINT_RUNTIME_KERNELS_MANY_SHAPES_H_
#define FIXPOINT_RUNTIME_KERNELS_MANY_SHAPES_H_

#include <cstdint>

namespace fixpoint::kernels {

// While an object exists, the kernels that its thread plans are for many shapes, if `is_wanted`.
// They give the bits that kernels for their shape alone give. No two of them may run at once: they
// may work in the same memory.
class ManyShapes {
 public:
  explicit ManyShapes(bool is_wanted);
  ~ManyShapes();
  ManyShapes(const ManyShapes&) = delete;
  ManyShapes& operator=(const ManyShapes&) = delete;

 private:
  const uint64_t outer_;
};

// Whether kernels of this thread are planned for many shapes.
bool AreForManyShapes();
// Another one for each object of a thread; 0: there is none.
uint64_t NumberOfManyShapes();

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_MANY_SHAPES_H_
