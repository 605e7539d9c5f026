// Products of matrices of bfloat16, with sums and results in floats.

#ifndef FIXPOINT_RUNTIME_KERNELS_BFLOAT16_PRODUCT_H_
#define FIXPOINT_RUNTIME_KERNELS_BFLOAT16_PRODUCT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/bfloat16.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

// Not for two threads at once.
class Bfloat16Product : public PacksWeights<Bfloat16> {
 public:
  // Errors: those of CheckShape, CheckBfloat16Products and Planned (onednn.h).
  static absl::StatusOr<std::unique_ptr<Bfloat16Product>> Plan(const ProductShape& shape);

  // out = x * y, with y packed. REQUIRES: the sizes are the shape's.
  virtual void Run(absl::Span<const Bfloat16> x, absl::Span<const uint8_t> y,
                   absl::Span<float> out) = 0;

  // oneDNN's name for it: "brg:avx512_core_bf16".
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_BFLOAT16_PRODUCT_H_
