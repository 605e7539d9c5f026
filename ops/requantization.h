// The op by which training simulates that sums of products of codes become codes by a multiplier
// and a shift (fixed_point.h), and which portable programs keep:
//
//   fake_requantize(X=y, InputScale=s, WeightScale=w, OutputScale=t) -> (Out=z)
//
// X is sums times their steps: of a product, with a bias in their steps, after a relu or a maximum.
// Out is the codes that integers give for them, before the zero point and unclamped, times the step
// of the codes; the quantize op after it, whose scale OutputScale is, gives just these codes.

#ifndef FIXPOINT_OPS_REQUANTIZATION_H_
#define FIXPOINT_OPS_REQUANTIZATION_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "ops/bias_codes.h"
#include "ops/era.h"
#include "ops/fixed_point.h"
#include "ops/quant_math.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

inline constexpr char kRequantize[] = "fake_requantize";

// The INTs of such an op: how many codes each scale stands for, as in BiasCodeOp (code_ops.h); the
// axis of X and Out that has the channels of the weight; the multiplier's bits, 16 or 32; and
// whether a sum is rounded once or twice.
struct RequantizationOp {
  const Argument* input = nullptr;
  const Argument* output = nullptr;
  const Argument* input_range = nullptr;    // of the product's activation
  const Argument* weight_ranges = nullptr;  // of its weight: one, or one for each channel
  const Argument* output_range = nullptr;   // of the codes that sums become
  int32_t input_largest_code = 0;
  int32_t weight_largest_code = 0;
  int32_t output_largest_code = 0;
  int channel_axis = 0;
  int multiplier_bits = 32;
  int roundings = 1;

  float StepOfSums(float input_scale, float weight_scale) const {
    return BiasStep(input_scale, input_largest_code, weight_scale, weight_largest_code);
  }
  float StepOfCodes(float output_scale) const { return StepOf(output_scale, output_largest_code); }
  float Factor(float step_of_sums, float output_scale) const {
    return RequantizationFactor(step_of_sums, StepOfCodes(output_scale), multiplier_bits);
  }
};

// Error (kInvalidArgument): the number is no factor of a requantization, which is 0 to 2^29.
absl::Status CheckRequantizationFactor(float factor);

// Nothing of an op of another type, and of one whose attributes cannot be read or that lacks an
// argument.
std::optional<RequantizationOp> ReadRequantization(const Op& op, Era era);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_REQUANTIZATION_H_
