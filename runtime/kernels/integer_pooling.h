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
// epilogue, stored as numbers or as codes. A window in padding alone has the average 0. Images lie
// channels last. Not for two threads at once.
class IntegerPooling {
 public:
  // Errors: those of CompleteShape; kInvalidArgument: a sum of codes may not fit in 32 bits.
  // REQUIRES: of averages.
  static absl::StatusOr<std::unique_ptr<IntegerPooling>> Plan(
      PoolingShape shape, CodeType codes, const Epilogue& epilogue = {},
      OutputType output = OutputType::kFloat);
  virtual ~IntegerPooling() = default;

  // Codes of the planned type, as bytes, the code of 0, and what they are apart. REQUIRES: the
  // sizes are what was planned; the zero point is a code.
  virtual void Run(absl::Span<const uint8_t> x, int32_t zero_point, float step,
                   EpilogueOperands operands, Output out) = 0;

  // As LoopsName says (vectorised.h).
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_POOLING_H_
