// The parameter by which a quantizer widens the ranges that it finds until their steps are powers
// of two.

#ifndef FIXPOINT_OPS_QUANTIZERS_POWER_OF_TWO_STEPS_H_
#define FIXPOINT_OPS_QUANTIZERS_POWER_OF_TWO_STEPS_H_

#include <algorithm>

#include "ops/code_range.h"
#include "ops/op_schema.h"
#include "ops/power_of_two_range.h"
#include "ops/quantizer.h"
#include "proto/program/attributes.h"

namespace fixpoint {

inline QuantizerParameter PowerOfTwoStepsParameter() {
  return {kPowerOfTwoStepsAttr,
          0,
          0,
          1,
          "1: ranges are widened until their steps are powers of two",
          /*reference_has_it=*/false,
          /*is_integer=*/true};
}

// Whether a quantizer has the parameter.
inline bool CanHavePowerOfTwoSteps(const Quantizer& quantizer) {
  const auto parameters = quantizer.parameters();
  return std::any_of(parameters.begin(), parameters.end(), [](const QuantizerParameter& parameter) {
    return parameter.name == kPowerOfTwoStepsAttr;
  });
}

// Whether the steps of a spec are powers of two.
inline bool HasPowerOfTwoSteps(const Quantizer& quantizer, const QuantSpec& spec) {
  return Parameter(quantizer, spec, kPowerOfTwoStepsAttr) != 0;
}

// A range that was found, widened if the spec asks for it.
inline float WidenedRange(const Quantizer& quantizer, const QuantSpec& spec, float range) {
  if (!HasPowerOfTwoSteps(quantizer, spec)) return range;
  return PowerOfTwoRange(range, CodeRangeOf(spec).largest);
}

// Adds the attribute to an op that quantizes, which has its bits.
inline void AddPowerOfTwoAttr(const Quantizer& quantizer, const QuantSpec& spec, OpBuilder& op) {
  if (HasPowerOfTwoSteps(quantizer, spec)) op.BoolAttr(kPowerOfTwoStepsAttr, true);
}

// Reads what AddPowerOfTwoAttr wrote, and the bits with it, by which ranges are widened.
inline void ReadPowerOfTwoAttr(const OpDesc& quantize, QuantSpec* spec) {
  const OpDesc::Attr* const attr = FindAttr(quantize, kPowerOfTwoStepsAttr);
  if (attr == nullptr || !attr->b()) return;
  (*spec->mutable_parameters())[kPowerOfTwoStepsAttr] = 1;
  spec->set_bits(AttrOrDefault(quantize, "bit_length", Era::kPaddle2)->i());
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_POWER_OF_TWO_STEPS_H_
