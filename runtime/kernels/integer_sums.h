// Convolutions and products of codes, exact: the forward pass of quantized training on integers.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "ops/code_range.h"
#include "ops/sums_of_codes.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/packing.h"

namespace fixpoint::kernels {

// The codes of inputs: unsigned, for values that are never negative, or signed.
enum class CodeType { kUint8, kInt8 };

// What is added to codes, modulo kCodesInByte, to make them unsigned: a change of the highest bit.
constexpr uint8_t ShiftToUnsigned(CodeType type) {
  return type == CodeType::kInt8 ? kCodesInByte / 2 : 0;
}

// How inputs are coded: codes are multiplied as they are, or less a zero point that each run gives.
struct InputCoding {
  InputCoding(CodeType code_type, bool with_zero_point = false)  // NOLINT(runtime/explicit)
      : type(code_type), has_zero_point(with_zero_point) {}

  CodeType type;
  bool has_zero_point;
};

// How sums are coded: products of inputs with weights, which are signed codes.
struct SumCoding {
  SumCoding(const InputCoding& of_inputs) : inputs(of_inputs) {}  // NOLINT(runtime/explicit)
  SumCoding(CodeType of_inputs) : inputs(of_inputs) {}            // NOLINT(runtime/explicit)

  SumCoding WithBias() const {
    SumCoding coding = *this;
    coding.has_bias = true;
    return coding;
  }
  SumCoding WithWeightZeroPoints() const {
    SumCoding coding = *this;
    coding.has_weight_zero_points = true;
    return coding;
  }
  // A sum of so many products. Its bias is one of ops/bias_codes.h, except where weights have zero
  // points: there it may be whatever 32 bits hold together with the sum.
  SumOfProducts Sum(int64_t products) const {
    SumOfProducts sum;
    sum.products = products;
    sum.is_unsigned = inputs.type == CodeType::kUint8;
    sum.has_zero_point = inputs.has_zero_point;
    sum.has_bias = has_bias && !has_weight_zero_points;
    sum.has_weight_zero_points = has_weight_zero_points;
    return sum;
  }

  InputCoding inputs;
  bool has_bias = false;                // in int32, one for each output channel
  bool has_weight_zero_points = false;  // one for each output channel
};

// The operands of a run. Spans that were not planned are empty.
struct SumOperands {
  absl::Span<const uint8_t> inputs;   // codes of the planned type, as bytes
  absl::Span<const uint8_t> weights;  // packed codes
  absl::Span<const float> scales;     // of the output channels
  int32_t zero_point = 0;             // of the inputs, a code; 0 where none was planned
  EpilogueOperands epilogue = {};
  absl::Span<const int32_t> bias = {};
  absl::Span<const int32_t> weight_zero_points = {};  // codes
};

// out = float(acc) * scale of the channel, and the epilogue, stored as floats or as codes, with
//   acc = sum((input - zero point) * (weight - zero point of the channel)) + bias of the channel.
// Padding adds nothing to it. It is the same integer on every machine, with any number of threads.
// Where the machine has no exact products of 8 bits (instruction_set.h) they are added in pairs
// (tile_loops.h), or the codes multiplied as floats, with no more products in a sum than floats
// add without rounding. Not for two threads at once.
class IntegerSums : public PacksWeights<int8_t> {
 public:
  // REQUIRES: the sizes are what was planned; 32 bits hold each sum with its bias, and floats hold
  // the bias where weights have no zero points (ops/bias_codes.h).
  virtual void Run(const SumOperands& operands, Output out) = 0;

  // oneDNN's name for it: "brgconv:avx512_core_vnni".
  virtual std::string implementation() const = 0;

  // How fast it is as a multiple of a kernel of floats, as measured on one machine for sums of its
  // kind (sums_kernels.h); below 1 it is slower.
  double beside_floats() const { return beside_floats_; }
  void set_beside_floats(double rate) { beside_floats_ = rate; }

 private:
  double beside_floats_ = 1;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_H_
