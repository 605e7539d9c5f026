// Products of matrices of codes, exact: the forward pass of quantized training on integers.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_PRODUCT_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_PRODUCT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/exact_sums.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

// out = float(acc) * scale of the column, where acc is the sum of the products of codes: the same
// integer on every machine, as of an IntegerConvolution.
class IntegerProduct {
 public:
  // Errors: kInvalidArgument: those of CheckShape; a sum may not fit in 32 bits; kUnimplemented:
  // oneDNN has no kernel for it.
  static absl::StatusOr<std::unique_ptr<IntegerProduct>> Plan(const ProductShape& shape,
                                                              CodeType x);
  virtual ~IntegerProduct() = default;

  // Takes the codes of y, and keeps them as the kernel wants them.
  virtual void SetY(absl::Span<const int8_t> codes) = 0;

  // A scale for each column. REQUIRES: SetY was called; the sizes are the shape's; the codes of x
  // are of the planned type, as bytes.
  virtual void Run(absl::Span<const uint8_t> x, absl::Span<const float> scales,
                   absl::Span<float> out) = 0;

  // As oneDNN calls it: "brgemm:avx512_core_vnni".
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_PRODUCT_H_
