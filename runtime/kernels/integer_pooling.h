// Average pooling of codes: exact sums, and one multiplication.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_POOLING_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_POOLING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/pooling_shape.h"

namespace fixpoint::kernels {

// out = float(sum of the codes in the window, each less the zero point) * (step / divisor), and the
// epilogue, stored as floats or as codes. A window in padding alone has the average 0. Images lie
// channels last. Not for two threads at once.
class IntegerPooling {
 public:
  // Errors: those of CompleteShape; kInvalidArgument: a sum of codes may not fit in 32 bits.
  // REQUIRES: the shape is one of averages.
  static absl::StatusOr<std::unique_ptr<IntegerPooling>> Plan(
      PoolingShape shape, CodeType codes, const Epilogue& epilogue = {},
      OutputType output = OutputType::kFloat);
  virtual ~IntegerPooling() = default;

  // `x` has codes of the planned type, as bytes; `step` is the distance between two codes.
  // REQUIRES: the sizes are those planned; the zero point is a code.
  virtual void Run(absl::Span<const uint8_t> x, int32_t zero_point, float step,
                   EpilogueOperands operands, Output out) = 0;

  // As LoopsName says (vectorised.h).
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_POOLING_H_
