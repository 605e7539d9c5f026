// What a quantizer's formula makes of a value before the quantize op reads it.

#ifndef FIXPOINT_TRANSPILER_PLAN_FORMULA_FACTS_H_
#define FIXPOINT_TRANSPILER_PLAN_FORMULA_FACTS_H_

#include "absl/status/status.h"
#include "ops/era.h"
#include "ops/quantizer.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/quant_spec.pb.h"

namespace fixpoint {

// Error (kFailedPrecondition): the codes of a sample would depend on the batch that it is in, or
// the range on what a run is fed, so that a program for inference would not compute what the
// trained one does. REQUIRES: CheckSpec of a spec for an activation is ok.
absl::Status CheckIsForActivations(const Quantizer& quantizer, const QuantSpec& spec, Era era);

// Whether its quantize ops draw random numbers, in test mode too.
bool RoundsByChance(const Quantizer& quantizer);

// Whether a quantizer, with default settings and as many bits as it has, passes that check and
// keeps no number for each element, which a weight alone has.
bool CanBeForActivations(const Quantizer& quantizer, Era era);

// Whether what the quantize op reads is never negative: the value itself, or what the formula's ops
// compute from it. `of_value`: whether the value is never negative, which is the answer where
// CheckSpec refuses the spec. The spec may have no signedness and no axis.
bool QuantizesNoNegatives(const Quantizer& quantizer, const QuantSpec& spec, SlotRole::Role role,
                          Era era, bool of_value);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_FORMULA_FACTS_H_
