// Whether a target's accumulator holds the sums of products of codes.

#ifndef FIXPOINT_TRANSPILER_PLAN_ACCUMULATOR_H_
#define FIXPOINT_TRANSPILER_PLAN_ACCUMULATOR_H_

#include <optional>
#include <string>
#include <vector>

#include "ops/era.h"
#include "ops/quantizer_table.h"
#include "proto/config/target.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/slot_specs.h"

namespace fixpoint {

// Why the target's accumulator does not hold the sums of a product with these slots, of the codes
// that are stored: "800 products of 8 and 8 bits; 16 bits hold 1". Nothing if it does, if the
// target says no width, or if the op is no product of two of the slots.
std::optional<std::string> WhyTooNarrow(const Target& target, const QuantizerTable& quantizers,
                                        const Op& op, Era era, const std::vector<SlotPlan>& slots);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_ACCUMULATOR_H_
