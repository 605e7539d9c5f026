// Ops between floats and codes, decoded: the one place that says what the slots and attributes of
// an op that quantizes or dequantizes mean, for freezing, lowering and running alike.
//
// An op is read by these names, so that a user's own is understood too; its schema says what it
// does (ops/quant_op.h) and what its scales are (OpTraits::scales_are_steps):
//
//   inputs   X; Scale, InScale or Scales; ZeroPoint or InZeroPoint
//   outputs  Out or Y; OutScale; OutScales, the ranges of a window of steps
//   INT      bit_length, or quant_bits (INTS), or max_range (FLOAT): the bits of the codes, or the
//            largest of them; round_type: the rounding (RoundTypeOf); quant_axis: the axis of
//            channels with a scale each, -1 for one scale
//   BOOLEAN  is_test: floats are rounded by the scale that is read, else by one that is found;
//            unsigned_codes; only_observer: the input passes unchanged

#ifndef FIXPOINT_OPS_CODE_OPS_H_
#define FIXPOINT_OPS_CODE_OPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/bias_codes.h"
#include "ops/code_range.h"
#include "ops/era.h"
#include "ops/quant_op.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// The ops between floats and codes of portable programs, which belong to no quantizer.
inline constexpr char kQuantizeLinear[] = "quantize_linear";
inline constexpr char kDequantizeLinear[] = "dequantize_linear";

// The arguments of such an op, by the names above; null for what it lacks.
struct CodeArguments {
  const Argument* input = nullptr;
  const Argument* output = nullptr;
  const Argument* scale = nullptr;  // the one that is read
  const Argument* zero_point = nullptr;
};
CodeArguments FindCodeArguments(const Op& op);

struct CodeOp {
  QuantOp kind = QuantOp::kNone;
  const Argument* input = nullptr;   // floats, or codes
  const Argument* output = nullptr;  // codes, or floats
  const Argument* scale = nullptr;   // the one that is read; null where it is found in X alone
  // Null where there is none. It counts only where scales are steps; elsewhere the code of 0 is 0.
  const Argument* zero_point = nullptr;
  CodeRange codes;          // for an op that dequantizes, without its rounding
  std::optional<int> axis;  // the channel axis; nothing: one scale for the tensor
  // Whether a scale is the step between two codes; if not, it is what the largest code stands for.
  bool scales_are_steps = false;
  // Whether an op that quantizes and dequantizes multiplies codes by the step between them; if not,
  // by what the largest code stands for, and divides by that code.
  bool multiplies_by_step = false;
  bool finds_scale = false;    // in X, or follows X's range; else uses the scale that is read
  bool only_observes = false;  // the input passes unchanged

  // How many codes above the zero point a scale stands for.
  int32_t codes_of_scale() const { return scales_are_steps ? 1 : codes.largest; }
};

// The same of the ops of a spec: the scale of an affine one is a step. REQUIRES: that of
// CodeRangeOf.
inline int32_t CodesOfScale(const QuantSpec& spec) {
  return spec.scheme() == QuantSpec::AFFINE ? 1 : CodeRangeOf(spec).largest;
}

// Returns nothing for an op without a schema, for one that neither quantizes nor dequantizes, and
// for one whose attributes cannot be read (those of ReadCodeRange for one that quantizes) or that
// lacks a required argument.
std::optional<CodeOp> ReadCodeOp(const Op& op, Era era, int least_bits = kLeastBits);

// The ops of a bias that training rounds to steps of the sums that it is added to (bias_codes.h),
// and of its codes in a portable program. They read X, InputScale and WeightScale, write Out, and
// have the INTs input_largest_code and weight_largest_code: how many codes a scale stands for,
// which is 1 where it is the step between two codes (codes_of_scale). A step is never 0, as a range
// may be (affine_codes.h). Without WeightScale the bias is added to codes, of which InputScale is
// the scale, and weight_largest_code is 1. How many bits codes have is an attribute of the op that
// makes them, and afterwards their type.
inline constexpr char kQuantizeBias[] = "fake_quantize_dequantize_bias";
inline constexpr char kDequantizeBias[] = "fake_dequantize_bias";

struct BiasCodeOp {
  const Argument* input = nullptr;  // numbers, or codes; one for each channel
  const Argument* output = nullptr;
  const Argument* input_range = nullptr;  // of the product's activation
  // Of its weight: one, or one for each channel. Null where the steps are those of the activation.
  const Argument* weight_ranges = nullptr;
  int32_t input_largest_code = 0;
  int32_t weight_largest_code = 0;
  int bits = 0;  // AreBiasBits; 0 of kDequantizeBias

  // The step of a channel's sums; `of_weight` is 1 without weight_ranges.
  float Step(float of_input, float of_weight) const {
    return BiasStep(of_input, input_largest_code, of_weight, weight_largest_code);
  }
};

// Nothing of an op of another type, and of one whose attributes cannot be read or that lacks an
// argument.
std::optional<BiasCodeOp> ReadBiasCodeOp(const Op& op, Era era);

// Whether an op between floats and codes is one of portable programs: those have a zero point.
bool IsStepOfPortable(const Op& op);
// The types of such ops.
std::vector<std::string> StepsOfPortable(QuantOp kind);

// What an op's attributes say, or its schema's defaults; for an op without a schema, 8 bits rounded
// half away from zero. Errors (kInvalidArgument), without naming the op: an attribute is not a
// whole number of 32 bits; the bits are not `least_bits` to kMostBits.
absl::StatusOr<CodeRange> ReadCodeRange(const OpDesc& op, Era era, int least_bits = kLeastBits);
absl::StatusOr<int> ReadBits(const OpDesc& op, Era era, int otherwise, int least_bits = kLeastBits);
// -1: one scale for the tensor. Error (kInvalidArgument): not a whole number of 32 bits.
absl::StatusOr<int> ReadChannelAxis(const OpDesc& op, Era era);
// What a dequantize op divides by, from whichever attribute gives it; not always a code.
absl::StatusOr<double> ReadLargestCode(const OpDesc& op, Era era, double otherwise);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODE_OPS_H_
