// Targets: built in (transpiler/plan/targets) or the user's files.

#ifndef FIXPOINT_TRANSPILER_PLAN_TARGET_H_
#define FIXPOINT_TRANSPILER_PLAN_TARGET_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/target.pb.h"

namespace fixpoint {

// The names of the built-in targets, sorted.
std::vector<std::string> BuiltInTargets();

// A built-in target by name. Error (kInvalidArgument): there is none of that name.
absl::StatusOr<Target> BuiltInTarget(absl::string_view name);

// Whether a target is named by a path: with a "/" or a ".".
bool IsTargetFile(absl::string_view name_or_path);

// A built-in target by name, or else the target in the file of that name, checked.
absl::StatusOr<Target> LoadTarget(const std::string& name_or_path,
                                  const QuantizerTable& quantizers);

// The op types with an input that can be quantized, sorted.
std::vector<std::string> QuantizableOpTypes();

// Reads a target's text and checks it. `name` is for messages.
absl::StatusOr<Target> ParseTarget(absl::string_view text, absl::string_view name,
                                   const QuantizerTable& quantizers);

// Whether a target is complete, and refers only to what exists. Error (kInvalidArgument): all
// complaints, a line each, which begin with `name`.
absl::Status CheckTarget(const Target& target, absl::string_view name,
                         const QuantizerTable& quantizers);

inline const Target::Abilities& AbilitiesOf(const Target& target, SlotRole::Role role) {
  return role == SlotRole::WEIGHT ? target.weight_abilities() : target.activation_abilities();
}

// Whether the target quantizes outputs of some ops, whatever a configuration says.
bool AlwaysQuantizesOutputs(const Target& target);

// Whether the target can quantize weights or activations by a spec with no field absent. Errors:
// kFailedPrecondition: what it does not support, and what it does; kInvalidArgument: no target
// supports it.
absl::Status CheckAbilities(const Target& target, SlotRole::Role role, const Quantizer& quantizer,
                            const QuantSpec& spec);

// The part of this check that concerns spec.axis(), for a spec per channel: the target does not
// support it, or the quantizer's ops of its era do not.
absl::Status CheckAxis(const Target& target, SlotRole::Role role, const Quantizer& quantizer,
                       const QuantSpec& spec);

inline Era EraOf(const Target& target) {
  return target.conventions().era() == Target::Conventions::FLUID ? Era::kFluid : Era::kPaddle2;
}

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_TARGET_H_
