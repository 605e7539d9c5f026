// Whether a plan fits its program, can be carried out for its target, and does not contradict
// itself: the one check that every plan passes, whether the planner made it or a file gave it.

#ifndef FIXPOINT_TRANSPILER_PLAN_VALIDATE_PLAN_H_
#define FIXPOINT_TRANSPILER_PLAN_VALIDATE_PLAN_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/gradient_links.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/config/target.pb.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"
#include "transpiler/plan/plan.h"

namespace fixpoint {

// `links` are those of the program, of all types of the plan's readers. REQUIRES: the trained
// scales are found (scale_training.h). Errors: kInvalidArgument: a reader does not read its site's
// value; a slot is rewired twice, or a gradient op differently from its forward op; sites that
// share a scale have more than one reader or more than one spec; a decision contradicts the sites
// (all of these at once, up to 20); a spec is incomplete, or does not fit its value.
// kFailedPrecondition: the plan is for another target, or asks for what the target or the program
// cannot do. The caller adds the file's name.
absl::Status ValidatePlan(const Plan& plan, const Program& program, const GradientLinks& links,
                          const Target& target, const QuantizerTable& quantizers);

// What is held of every site, and of a slot by the planner before it has a site, so that it
// complains by op and slot: whether the quantizer exists, can do what the spec says (CheckSpec),
// and the target too (CheckAbilities). Errors: theirs; kInvalidArgument: there is no such
// quantizer.
absl::Status CheckQuantizer(const Target& target, SlotRole::Role role, const QuantSpec& spec,
                            const QuantizerTable& quantizers);

// The extent of the axis with a scale for each channel, not above 0 if it is not known; nothing if
// the tensor has no such axis.
std::optional<int64_t> ChannelsOf(const VarType::TensorDesc& tensor, const QuantSpec& spec);

// Whether values that are quantized so may share a scale.
bool MayShareScale(const QuantSpec& a, const QuantSpec& b);

// Error (kInvalidArgument): the range of a variable is not finite, or min > max.
absl::Status CheckRange(absl::string_view variable, float min, float max);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_VALIDATE_PLAN_H_
