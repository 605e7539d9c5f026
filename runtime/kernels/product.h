// Products of matrices of floats. The gradients of a product are products themselves.

#ifndef FIXPOINT_RUNTIME_KERNELS_PRODUCT_H_
#define FIXPOINT_RUNTIME_KERNELS_PRODUCT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

// Not for two threads at once.
class Product : public PacksWeights<float> {
 public:
  // Stages that oneDNN cannot apply to its sums, or applies element by element, are loops of our
  // own. Errors: those of CheckShape and Planned (onednn.h).
  static absl::StatusOr<std::unique_ptr<Product>> Plan(const ProductShape& shape,
                                                       const Epilogue& epilogue = {});

  // out = x * y, with y packed, and the epilogue, whose channels are columns. REQUIRES: the sizes
  // are the shape's.
  virtual void Run(absl::Span<const float> x, absl::Span<const uint8_t> y,
                   EpilogueOperands operands, absl::Span<float> out) = 0;

  // oneDNN's name for it: "brgemm:jit".
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PRODUCT_H_
