// Arithmetic of two tensors of codes, element by element.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_ELEMENTWISE_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_ELEMENTWISE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// One of both tensors.
struct ElementwiseCodes {
  absl::Span<const uint8_t> codes;  // of the planned type, as bytes
  int32_t zero_point = 0;
};

// out = float((x - zero point of x) * (y - zero point of y)) * scale, where the product is an exact
// integer, and the epilogue, stored as floats or as codes. Channels are the last dimension. Not for
// two threads at once.
class IntegerMultiplication {
 public:
  // Errors: those of Elementwise::Plan.
  static absl::StatusOr<std::unique_ptr<IntegerMultiplication>> Plan(
      const ElementwiseShape& shape, CodeType x, CodeType y, const Epilogue& epilogue = {},
      OutputType output = OutputType::kFloat);
  virtual ~IntegerMultiplication() = default;

  virtual const Dims& out_dims() const = 0;

  // REQUIRES: the sizes are those of the dims; zero points are codes; operands and output are those
  // planned.
  virtual void Run(ElementwiseCodes x, ElementwiseCodes y, float scale, EpilogueOperands operands,
                   Output out) = 0;

  // As LoopsName says (vectorised.h).
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_ELEMENTWISE_H_
