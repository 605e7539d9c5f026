// Convolutions and products of codes, exact: the forward pass of quantized training on integers.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/packing.h"

namespace fixpoint::kernels {

// The codes of inputs: of what is never negative, or of both signs.
enum class CodeType { kUint8, kInt8 };

// How inputs are coded: by codes that stand for themselves, or for what they are above a zero
// point, which a run says.
struct InputCoding {
  InputCoding(CodeType code_type, bool with_zero_point = false)  // NOLINT(runtime/explicit)
      : type(code_type), has_zero_point(with_zero_point) {}

  CodeType type;
  bool has_zero_point;
};

// out = float(acc) * scale of the channel, and the epilogue, stored as numbers or as codes; acc is
// the sum of the products of codes, those of inputs less their zero point; padding adds nothing to
// it. It is the same integer on every machine, with any number of threads.
// Where the machine has no exact products of 8 bits (instruction_set.h) the codes are multiplied as
// floats, with no more products in a sum than floats add without rounding. Not for two threads at
// once.
class IntegerSums : public PacksWeights<int8_t> {
 public:
  // Codes of the planned type, as bytes, packed codes of the weights, and a scale for each output
  // channel. REQUIRES: the sizes are what was planned; the zero point is a code, and 0 where none
  // was planned.
  virtual void Run(absl::Span<const uint8_t> inputs, int32_t zero_point,
                   absl::Span<const uint8_t> weights, absl::Span<const float> scales,
                   EpilogueOperands operands, Output out) = 0;

  // As oneDNN calls it: "brgconv:avx512_core_vnni".
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_H_
