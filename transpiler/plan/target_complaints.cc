// What is wrong with the description of a target.

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/quantizers/power_of_two_steps.h"
#include "ops/recurrent_state.h"
#include "proto/base/nearest_name.h"
#include "proto/program/type_names.h"
#include "transpiler/composites/components.h"
#include "transpiler/plan/accumulator_width.h"
#include "transpiler/plan/target.h"
#include "transpiler/plan/unknown_quantizer.h"

namespace fixpoint {
namespace {

using Complain = std::function<void(const std::string&)>;

bool CanBeQuantized(const OpSchema& schema, const std::string& slot) {
  const auto inputs = schema.quantizable_inputs();
  return std::any_of(inputs.begin(), inputs.end(),
                     [&slot](const QuantizableInput& input) { return input.slot == slot; });
}

// The names of the attributes of an op, in any era.
std::vector<std::string> AttributesOf(const OpSchema& schema) {
  std::set<std::string> names;
  for (const AttrSchema& attr : schema.attrs()) names.insert(attr.name);
  return {names.begin(), names.end()};
}

const AttrSchema* FindAttribute(const OpSchema& schema, const std::string& name) {
  const AttrSchema* const own = schema.FindAttr(name, Era::kPaddle2);
  return own != nullptr ? own : FindCommonAttr(name);
}

// Complains about conditions that no op of the entry's types ever meets.
void CheckConditions(const Target::QuantizedOp& op, const Complain& complain) {
  for (const Target::Condition& condition : op.when()) {
    const std::string& name = condition.attr();
    if (name.empty() || condition.has_equals() == condition.has_is()) {
      complain("a condition has an attr and one of equals and is");
      continue;
    }
    for (const std::string& type : op.types()) {
      const OpSchema* const schema = FindOpSchema(type);
      if (schema == nullptr) continue;
      const AttrSchema* const attr = FindAttribute(*schema, name);
      if (attr == nullptr) {
        const std::vector<std::string> names = AttributesOf(*schema);
        complain(absl::StrCat(type, " has no attribute ", name,
                              OfferNames(name, names, /*shown=*/names.size())));
        continue;
      }
      const bool is_text = attr->type == AttrType::STRING;
      const bool is_truth = attr->type == AttrType::BOOLEAN || attr->type == AttrType::INT;
      if (condition.has_equals() ? is_text : is_truth) continue;
      complain(absl::StrCat("attribute ", name, " of ", type, " is of type ",
                            AttrTypeName(attr->type), "; want ",
                            condition.has_equals() ? "string for equals" : "boolean for is"));
    }
  }
}

// Complains about unknown op types and slots, which would never be quantized. An addend need not be
// a slot of every op of an entry.
void CheckTypesAndSlots(const Target::QuantizedOp& op, const Complain& complain) {
  std::vector<const OpSchema*> schemas;
  for (const std::string& type : op.types()) {
    const OpSchema* schema = FindOpSchema(type);
    if (schema == nullptr) {
      complain(absl::StrCat("there is no op type \"", type, "\"",
                            DidYouMean(type, QuantizableOpTypes())));
    } else if (schema->quantizable_inputs().empty()) {
      complain(absl::StrCat(type, " has no input that can be quantized"));
    } else {
      schemas.push_back(schema);
    }
  }
  absl::flat_hash_set<std::string> slots;
  for (const Target::Slot& slot : op.inputs()) {
    if (!slots.insert(slot.name()).second) {
      complain(absl::StrCat("slot ", slot.name(), " is there twice"));
    }
    const auto has_slot = [&slot](const OpSchema* schema) {
      return CanBeQuantized(*schema, slot.name());
    };
    if (slot.name().empty() || (slot.role() == SlotRole::ADDEND &&
                                std::any_of(schemas.begin(), schemas.end(), has_slot))) {
      continue;
    }
    for (const OpSchema* schema : schemas) {
      if (has_slot(schema)) continue;
      complain(absl::StrCat(schema->type(), " has no input ", slot.name(),
                            " that can be quantized; it has ",
                            absl::StrJoin(schema->quantizable_inputs(), ", ",
                                          [](std::string* out, const QuantizableInput& input) {
                                            absl::StrAppend(out, input.slot);
                                          })));
    }
  }
}

// For a sum that adds a residual, both inputs, and nothing else, are declared RESIDUAL.
void CheckResidual(const Target::QuantizedOp& op, const Complain& complain) {
  const auto is_residual = [](const Target::Slot& slot) {
    return slot.role() == SlotRole::RESIDUAL;
  };
  const auto& inputs = op.inputs();
  if (std::none_of(inputs.begin(), inputs.end(), is_residual)) return;
  const auto& types = op.types();
  const std::vector<std::string> sums =
      TypesWith([](const OpTraits& traits) { return traits.sum.has_value(); });
  const bool is_sum = std::all_of(types.begin(), types.end(), [&sums](const std::string& type) {
    return std::find(sums.begin(), sums.end(), type) != sums.end();
  });
  if (is_sum && inputs.size() == 2 && std::all_of(inputs.begin(), inputs.end(), is_residual) &&
      op.no_weight() && !op.shared_scale()) {
    return;
  }
  complain(absl::StrCat("RESIDUAL is for X and Y of ", absl::StrJoin(sums, " or "),
                        ", both, with no_weight and without shared_scale"));
}

// What the machine takes whole has components, and is named once.
void CheckComposites(const Target& target, const Complain& complain) {
  const std::vector<std::string> known = ExpandableTypes();
  absl::flat_hash_set<std::string> seen;
  for (const std::string& type : target.composites()) {
    if (std::find(known.begin(), known.end(), type) == known.end()) {
      complain(absl::StrCat("composites: \"", type, "\" has no components; want some of ",
                            absl::StrJoin(known, ", ")));
    } else if (!seen.insert(type).second) {
      complain(absl::StrCat("composites: ", type, " is there twice"));
    }
  }
}

// What the abilities of a role say beside each other, and beside the default spec.
void CheckRole(absl::string_view role, const QuantSpec& spec, const Target::Abilities& abilities,
               const QuantizerTable& quantizers, const Complain& complain) {
  if (!abilities.power_of_two_steps()) return;
  const auto wrong = [&](const auto&... parts) {
    complain(absl::StrCat(role, ": all steps are powers of two, ", parts...));
  };
  if (abilities.reference_ops_only()) {
    wrong("which the reference's ops do not make; want no reference_ops_only");
  }
  const Quantizer* const quantizer = quantizers.Find(spec.quantizer());
  if (quantizer == nullptr || CanHavePowerOfTwoSteps(*quantizer)) return;
  std::vector<std::string> able;
  for (const auto& other : quantizers.all()) {
    if (CanHavePowerOfTwoSteps(*other)) able.emplace_back(other->name());
  }
  wrong("which quantizer ", spec.quantizer(), " does not make; want one of ",
        absl::StrJoin(able, ", "));
}

// The width of the accumulator holds the products of the target's own codes.
void CheckAccumulator(const Target& target, const QuantizerTable& quantizers,
                      const Complain& complain) {
  if (!target.has_accumulator_bits()) return;
  const int bits = target.accumulator_bits();
  if (bits < kLeastAccumulatorBits || bits > kMostAccumulatorBits) {
    complain(absl::StrCat("accumulator_bits is ", bits, "; want ", kLeastAccumulatorBits, " to ",
                          kMostAccumulatorBits));
    return;
  }
  if (target.bias() != Target::FLOAT && bits < 32) {
    complain(absl::StrCat("bias is ", Target::BiasType_Name(target.bias()),
                          ", and accumulator_bits ", bits, "; want 32 or more, or a FLOAT bias"));
  }
  const std::optional<QuantSpec> activation = FindStoredSpec(target.activations(), quantizers);
  const std::optional<QuantSpec> weight = FindStoredSpec(target.weights(), quantizers);
  if (!activation || !weight || MostProducts(bits, *activation, *weight) > 0) return;
  complain(absl::StrCat("accumulator_bits is ", bits, ", which does not hold one product of ",
                        activation->bits(), " and ", weight->bits(), " bits"));
}

// A shift gives the bits of what is simulated only where everything that it takes part in is one.
void CheckShift(const Target& target, const Complain& complain) {
  if (target.requantization() != Target::SHIFT) return;
  const auto want = [&complain](absl::string_view what) {
    complain(absl::StrCat("requantization is SHIFT; want ", what));
  };
  if (!target.weight_abilities().power_of_two_steps() ||
      !target.activation_abilities().power_of_two_steps()) {
    want("power_of_two_steps among the abilities of weights and of activations");
  }
  const auto& roundings = target.activation_abilities().roundings();
  if (roundings.size() != 1 || roundings[0] != QuantSpec::HALF_TO_EVEN) {
    want("HALF_TO_EVEN alone among the roundings of activations");
  }
  if (target.bias() == Target::FLOAT) {
    want("an INT32 or INT16 bias, which is added before the shift");
  }
}

// What training simulates are integers: sums with their biases, and multipliers as they are.
void CheckMultiplier(const Target& target, const Complain& complain) {
  const int bits = target.requantization_multiplier_bits();
  const int roundings = target.requantization_roundings();
  if (target.requantization() != Target::MULTIPLIER_AND_SHIFT) {
    if (target.has_requantization_multiplier_bits() || target.has_requantization_roundings()) {
      complain(
          "requantization_multiplier_bits and requantization_roundings are of "
          "MULTIPLIER_AND_SHIFT; want that requantization, or none of them");
    }
    return;
  }
  if (bits != 16 && bits != 32) {
    complain(absl::StrCat("requantization_multiplier_bits is ", bits, "; want 16 or 32"));
  }
  if (roundings != 1 && roundings != 2) {
    complain(absl::StrCat("requantization_roundings is ", roundings, "; want 1 or 2"));
  } else if (roundings == 2 && bits == 16) {
    complain("requantization_roundings is 2; want 1 for a multiplier of 16 bits");
  }
  if (target.bias() != Target::INT32) {
    complain(
        "requantization is MULTIPLIER_AND_SHIFT; want an INT32 bias, which is added before it");
  }
  if (target.activation_abilities().reference_ops_only()) {
    complain(
        "requantization is MULTIPLIER_AND_SHIFT, for which the reference has no op; want no "
        "reference_ops_only");
  }
}

std::vector<std::string> Complaints(const Target& target, const QuantizerTable& quantizers) {
  std::vector<std::string> complaints;
  const auto complain = [&complaints](const auto&... parts) {
    complaints.push_back(absl::StrCat(parts...));
  };
  const auto check_spec = [&](const QuantSpec& spec, absl::string_view place) {
    if (spec.has_quantizer() && quantizers.Find(spec.quantizer()) == nullptr) {
      complain(place, ": ", UnknownQuantizer(spec.quantizer(), quantizers));
    }
  };
  if (target.name().empty()) complain("name is missing");
  if (!target.conventions().has_era()) complain("conventions.era is missing");
  if (!target.conventions().has_scale_suffix()) complain("conventions.scale_suffix is missing");
  // Two that are absent are one message, so that an address does not tell them apart.
  for (const auto& [place, spec] :
       {std::pair<absl::string_view, const QuantSpec*>("weights", &target.weights()),
        {"activations", &target.activations()}}) {
    if (!spec->has_quantizer()) complain(place, ".quantizer is missing");
    if (!spec->has_bits()) complain(place, ".bits is missing");
    if (!spec->has_signedness()) complain(place, ".signedness is missing");
    if (!spec->has_rounding()) complain(place, ".rounding is missing");
    if (!spec->has_form()) complain(place, ".form is missing");
    check_spec(*spec, place);
  }
  if (target.bias() != Target::FLOAT && target.activation_abilities().reference_ops_only()) {
    complain("bias is ", Target::BiasType_Name(target.bias()),
             ", for which the reference has no op; want no reference_ops_only");
  }
  CheckComposites(target, complain);
  CheckAccumulator(target, quantizers, complain);
  CheckShift(target, complain);
  CheckMultiplier(target, complain);
  CheckRole("weights", target.weights(), target.weight_abilities(), quantizers, complain);
  CheckRole("activations", target.activations(), target.activation_abilities(), quantizers,
            complain);
  if (target.ops().empty()) complain("ops is empty: the target computes nothing on integers");
  for (int i = 0; i < target.ops_size(); ++i) {
    const Target::QuantizedOp& op = target.ops(i);
    const std::string place = absl::StrCat("ops[", i, "]");
    if (op.types().empty()) complain(place, ".types is empty");
    if (op.inputs().empty()) complain(place, ".inputs is empty");
    for (const Target::Slot& slot : op.inputs()) {
      if (slot.name().empty()) complain(place, ": a slot has no name");
      if (!slot.has_role()) complain(place, ": slot ", slot.name(), " has no role");
      if (slot.role() == SlotRole::BIAS) {
        complain(place, ": slot ", slot.name(), " is BIAS; want ADDEND, and `bias` of the target");
      }
    }
    CheckTypesAndSlots(op, [&](const std::string& what) { complain(place, ": ", what); });
    CheckResidual(op, [&](const std::string& what) { complain(place, ": ", what); });
    if (op.needs_weight() && op.no_weight()) {
      complain(place, ": needs_weight and no_weight exclude each other");
    }
    if (const absl::Status bits = CheckStateBits(op.state_bits()); !bits.ok()) {
      complain(place, ": state_bits: ", std::string(bits.message()));
    }
    CheckConditions(op, [&](const std::string& what) { complain(place, ".when: ", what); });
    check_spec(op.weights(), absl::StrCat(place, ".weights"));
    check_spec(op.activations(), absl::StrCat(place, ".activations"));
  }
  for (int i = 0; i < target.outputs_size(); ++i) {
    const Target::ObservedOutputs& outputs = target.outputs(i);
    const std::string place = absl::StrCat("outputs[", i, "]");
    check_spec(outputs.spec(), absl::StrCat(place, ".spec"));
    if (outputs.always() && !outputs.quantize()) {
      complain(place, ": always is true, and quantize is not; want both, or neither");
    }
  }
  for (const auto* abilities : {&target.weight_abilities(), &target.activation_abilities()}) {
    if (abilities->has_min_bits() && abilities->has_max_bits() &&
        abilities->min_bits() > abilities->max_bits()) {
      complain("abilities: min_bits ", abilities->min_bits(), " is above max_bits ",
               abilities->max_bits());
    }
    for (const std::string& name : abilities->quantizers()) {
      if (quantizers.Find(name) == nullptr)
        complain("abilities: ", UnknownQuantizer(name, quantizers));
    }
  }
  return complaints;
}

}  // namespace

absl::Status CheckTarget(const Target& target, absl::string_view name,
                         const QuantizerTable& quantizers) {
  const std::vector<std::string> complaints = Complaints(target, quantizers);
  if (complaints.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": ", absl::StrJoin(complaints, absl::StrCat("\n", name, ": "))));
}

}  // namespace fixpoint
