#include "transpiler/plan/validate_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/bias_codes.h"
#include "ops/forward_ops.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/op_types.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "proto/wire/deterministic_bytes.h"
#include "transpiler/plan/complaints.h"
#include "transpiler/plan/formula_facts.h"
#include "transpiler/plan/gradient_sites.h"
#include "transpiler/plan/integer_bias.h"
#include "transpiler/plan/parameters.h"
#include "transpiler/plan/scale_training.h"
#include "transpiler/plan/schedule.h"
#include "transpiler/plan/target.h"
#include "transpiler/plan/unknown_quantizer.h"

namespace fixpoint {
namespace {

std::string PlaceOf(const Plan& plan, size_t site) {
  return absl::StrCat("site ", site, " (", plan.sites[site].value->variable().name(), ")");
}

// What each site says on its own.
void CheckSites(const Plan& plan, Complaints& complaints) {
  for (size_t i = 0; i < plan.sites.size(); ++i) {
    const Site& site = plan.sites[i];
    const std::string place = PlaceOf(plan, i);
    if (site.role != SlotRole::WEIGHT && site.role != SlotRole::ACTIVATION &&
        site.role != SlotRole::BIAS) {
      complaints.Add(place, ": role ", SlotRole::Role_Name(site.role),
                     "; want WEIGHT, ACTIVATION or BIAS");
    }
    for (const auto* arguments : {&site.readers, &site.gradient_readers}) {
      for (const Argument* argument : *arguments) {
        if (argument->value() == site.value) continue;
        complaints.Add(place, ": ", Describe(argument->op()), " does not read that value in slot ",
                       argument->slot_name());
      }
    }
    if (site.readers.empty() && site.gradient_readers.empty() && !site.observe) {
      complaints.Add(place, ": it has no reader");
    }
    if (site.observe && !site.shared_scale.empty()) {
      complaints.Add(place, ": an observer shares no scale");
    }
  }
}

// Whether a slot of a gradient op has the gradient of a product's result.
bool IsOfProductsResult(const Argument& argument) {
  const OpSchema* const forward = FindOpSchema(ForwardTypeOf(argument.op().type()));
  const std::optional<ProductTrait>* const product =
      forward == nullptr ? nullptr : &forward->traits().product;
  return product != nullptr && product->has_value() &&
         argument.slot_name() == absl::StrCat((*product)->output, kGradientSuffix);
}

// Each slot is rewired by one site, and a gradient op as its forward op is.
void CheckReaders(const Plan& plan, const GradientLinks& links, Complaints& complaints) {
  absl::flat_hash_set<const Argument*> rewired;
  struct Group {
    const Op* reader;
    size_t site;
  };
  absl::flat_hash_map<std::string, Group> sharing;
  for (size_t i = 0; i < plan.sites.size(); ++i) {
    const Site& site = plan.sites[i];
    const std::string place = PlaceOf(plan, i);
    absl::flat_hash_set<const Argument*> wanted;
    for (const Argument* argument : site.readers) {
      const Op& op = argument->op();
      if (const Op* gradient = links.UncertainGradientOf(op);
          gradient != nullptr && !site.observe) {
        complaints.Add(place, ": ", Describe(op), " reads it, and ", Describe(*gradient),
                       " may be its gradient op, or another op's; it has to stay float");
      }
      if (!IsForward(op)) {
        complaints.Add(place, ": ", Describe(op), " is no forward op, and cannot be a reader");
      }
      for (const Argument* repeat : links.RepeatsOf(*argument)) wanted.insert(repeat);
      if (site.shared_scale.empty()) continue;
      const Group& group = sharing.try_emplace(site.shared_scale, Group{&op, i}).first->second;
      if (!MayShareScale(plan.sites[group.site].spec, site.spec)) {
        complaints.Add(place, ": its spec is not that of site ", group.site,
                       ", which shares its scale \"", site.shared_scale, "\"");
      }
      if (group.reader != &op) {
        complaints.Add(place, ": ", Describe(op), " reads it, and another op what shares its ",
                       "scale \"", site.shared_scale, "\"; one op reads all of them");
      }
    }
    for (const Argument* argument : site.gradient_readers) {
      if (site.is_of_gradient()) {
        if (IsOfProductsResult(*argument)) continue;
        complaints.Add(place, ": slot ", argument->slot_name(), " of ", Describe(argument->op()),
                       " reads no gradient of a product's result");
      } else if (wanted.erase(argument) == 0) {
        complaints.Add(place, ": slot ", argument->slot_name(), " of ", Describe(argument->op()),
                       " repeats no reader");
      }
    }
    if (!wanted.empty()) {
      const Argument& missing = **std::min_element(
          wanted.begin(), wanted.end(), [](const Argument* a, const Argument* b) {
            return a->op().block().index() != b->op().block().index()
                       ? a->op().block().index() < b->op().block().index()
                       : a->op().IsBefore(b->op());
          });
      complaints.Add(place, ": slot ", missing.slot_name(), " of ", Describe(missing.op()),
                     " repeats a reader, and is no gradient reader");
    }
    if (site.observe) continue;
    for (const auto* arguments : {&site.readers, &site.gradient_readers}) {
      for (const Argument* argument : *arguments) {
        if (!rewired.insert(argument).second) {
          complaints.Add(place, ": slot ", argument->slot_name(), " of ", Describe(argument->op()),
                         " is rewired twice");
        }
      }
    }
  }
}

// A decision about an op has to be what the sites do to it. An op that stays float may read the
// quantized output of another, but no weight that is quantized for it.
void CheckDecisions(const Plan& plan, Complaints& complaints) {
  absl::flat_hash_set<const Op*> rewired;
  absl::flat_hash_map<const Op*, size_t> site_of_weight;
  for (size_t i = 0; i < plan.sites.size(); ++i) {
    if (plan.sites[i].observe) continue;
    for (const Argument* argument : plan.sites[i].readers) {
      rewired.insert(&argument->op());
      if (argument->value() != plan.sites[i].value) continue;  // is complained of already
      if (plan.sites[i].role == SlotRole::WEIGHT) site_of_weight.emplace(&argument->op(), i);
    }
  }
  for (size_t i = 0; i < plan.decisions.size(); ++i) {
    const Op* op = plan.decisions[i].op;
    const auto site = site_of_weight.find(op);
    if (plan.decisions[i].quantized && !rewired.contains(op)) {
      complaints.Add("decision ", i, ": ", Describe(*op),
                     " is to be quantized, and no site has it among its readers");
    } else if (!plan.decisions[i].quantized && site != site_of_weight.end()) {
      complaints.Add("decision ", i, ": ", Describe(*op), " is to stay float, and ",
                     PlaceOf(plan, site->second), " has it among its readers");
    }
    if (site != site_of_weight.end()) site_of_weight.erase(site);
  }
  std::map<size_t, const Op*> undecided;
  for (const auto& [op, site] : site_of_weight) undecided.emplace(site, op);
  for (const auto& [site, op] : undecided) {
    complaints.Add(PlaceOf(plan, site), ": ", Describe(*op),
                   " reads it, and no decision is about it");
  }
}

// Whether a bias site can be added to sums of products of codes, which other sites make.
absl::Status CheckBias(const Site& site, const IntegerBias& biases) {
  const auto wrong = [&site](const auto&... parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", site.value->variable().name(), "\": a bias ", parts...));
  };
  const int bits = site.spec.bits();
  if (site.observe || !site.shared_scale.empty() || site.range.has_value() || !AreBiasBits(bits) ||
      DeterministicBytes(site.spec) != DeterministicBytes(IntegerBiasSpec(bits))) {
    return wrong("has the spec { bits: 32 } or { bits: 16 }, and nothing else is said of it");
  }
  if (site.value->origin() != Value::Origin::kEntry || !site.value->variable().persistable()) {
    return wrong("has to be a parameter");
  }
  if (site.readers.size() != 1) return wrong("has to have one reader");
  if (const auto why = biases.WhyFloat(*site.readers.front()); why) {
    return wrong("cannot be added in int", bits, ": ", *why);
  }
  return absl::OkStatus();
}

// Whether the value of a site has the type, and the spec the fields, that a quantizer needs.
absl::Status CheckSite(const Site& site) {
  const Variable& variable = site.value->variable();
  const auto wrong = [&variable](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("\"", variable.name(), "\": ", parts...));
  };
  const QuantSpec& spec = site.spec;
  const VarType& type = variable.desc()->type();
  if (type.type() != VarType::LOD_TENSOR || variable.tensor() == nullptr ||
      variable.tensor()->data_type() != VarType::FP32) {
    return wrong("it is not a tensor of type FP32");
  }
  if (!spec.has_quantizer()) return wrong("spec.quantizer is missing");
  if (!spec.has_bits()) return wrong("spec.bits is missing");
  if (!spec.has_granularity()) return wrong("spec.granularity is missing");
  if (!spec.has_scheme()) return wrong("spec.scheme is missing");
  if (!spec.has_rounding()) return wrong("spec.rounding is missing");
  if (!spec.has_form()) return wrong("spec.form is missing");
  if (!spec.has_signedness() || spec.signedness() == QuantSpec::UNSIGNED_IF_NEVER_NEGATIVE) {
    return wrong("spec.signedness is not SIGNED or UNSIGNED");
  }
  if (spec.granularity() == QuantSpec::PER_CHANNEL) {
    const VarType::TensorDesc& tensor = *variable.tensor();
    if (!spec.has_axis() || ChannelsOf(tensor, spec).value_or(0) <= 0) {
      return wrong("spec.axis is ", spec.has_axis() ? absl::StrCat(spec.axis()) : "missing",
                   "; want an axis of ", tensor.dims_size(), " whose extent is known");
    }
  }
  if (site.range.has_value()) {
    RETURN_IF_ERROR(CheckRange(variable.name(), site.range->min(), site.range->max()));
  }
  return absl::OkStatus();
}

// Whether there is an op that follows the range of a site that is observed, shares its scale, or
// has its range found from a summary.
absl::Status CheckObserver(const Site& site, const Quantizer& quantizer, Era program, Era target) {
  const bool is_observed = site.observe || !site.shared_scale.empty() ||
                           !quantizer.SummaryOps(site.spec, target).empty();
  if (!is_observed || FindObserver(quantizer, program, target) != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("quantizer ", quantizer.name(), " has no observer in the ",
                   program == Era::kFluid ? "program" : "target", "'s era"));
}

}  // namespace

absl::Status CheckQuantizer(const Target& target, SlotRole::Role role, const QuantSpec& spec,
                            const QuantizerTable& quantizers) {
  const Quantizer* const quantizer = quantizers.Find(spec.quantizer());
  if (quantizer == nullptr) {
    return absl::InvalidArgumentError(UnknownQuantizer(spec.quantizer(), quantizers));
  }
  if (role == SlotRole::WEIGHT && spec.range_rule() == QuantSpec::MOVING_AVERAGE) {
    return absl::InvalidArgumentError(
        "range_rule MOVING_AVERAGE is one of samples, and weights have none; want MIN_MAX, "
        "PERCENTILE, MSE or KL, or a rule of the activation's slot");
  }
  RETURN_IF_ERROR(CheckSpec(*quantizer, spec));
  if (RoundsByChance(*quantizer)) {
    return absl::FailedPreconditionError(
        absl::StrCat("quantizer ", quantizer->name(),
                     " rounds by chance in test programs too; it is for gradients"));
  }
  if (role == SlotRole::ACTIVATION) {
    RETURN_IF_ERROR(CheckIsForActivations(*quantizer, spec, EraOf(target)));
  }
  return CheckAbilities(target, role, *quantizer, spec);
}

std::optional<int64_t> ChannelsOf(const VarType::TensorDesc& tensor, const QuantSpec& spec) {
  if (spec.axis() < 0 || spec.axis() >= tensor.dims_size()) return std::nullopt;
  return tensor.dims(spec.axis());
}

bool MayShareScale(const QuantSpec& a, const QuantSpec& b) {
  return DeterministicBytes(a) == DeterministicBytes(b);
}

absl::Status CheckRange(absl::string_view variable, float min, float max) {
  if (std::isfinite(min) && std::isfinite(max) && min <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", variable, "\" goes from ", min, " to ", max,
                                                 "; a range is finite, and min is not above max"));
}

absl::Status ValidatePlan(const Plan& plan, const Program& program, const GradientLinks& links,
                          const Target& target, const QuantizerTable& quantizers) {
  Complaints complaints;
  CheckSites(plan, complaints);
  CheckReaders(plan, links, complaints);
  CheckDecisions(plan, complaints);
  if (plan.is_inference == links.has_gradients()) {
    complaints.Add("is_inference is ", plan.is_inference ? "true" : "false",
                   ", and the program has ", plan.is_inference ? "" : "no ", "gradient ops");
  }
  RETURN_IF_ERROR(complaints.status());
  if (!plan.target.empty() && plan.target != target.name()) {
    return absl::FailedPreconditionError(
        absl::StrCat("it is for the target ", plan.target, ", and the target is ", target.name()));
  }
  RETURN_IF_ERROR(CheckSchedule(plan.schedule, target));
  Parameters parameters;
  for (const Site& site : plan.sites) {
    if (site.role == SlotRole::BIAS) continue;
    RETURN_IF_ERROR(CheckSite(site));
    // The result of a computation on a parameter, such as a cast, may be an observed output.
    const bool is_weight = parameters.IsWeight(*site.value);
    const bool is_parameter = is_weight && site.value->op() == nullptr;
    if (site.role == SlotRole::WEIGHT ? !is_weight : is_parameter) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", site.value->variable().name(), "\": role ", SlotRole::Role_Name(site.role),
          "; want WEIGHT of a parameter, and of nothing else"));
    }
    absl::Status status = site.is_of_gradient()
                              ? CheckGradientSpec(site.spec, target, quantizers)
                              : CheckQuantizer(target, site.role, site.spec, quantizers);
    if (status.ok()) {
      const Quantizer& quantizer = *quantizers.Find(site.spec.quantizer());
      status = CheckObserver(site, quantizer, EraOf(program), EraOf(target));
    }
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("\"", site.value->variable().name(),
                                                      "\": ", std::string(status.message())));
    }
  }
  // They depend on the specs of the other sites.
  OpTypes types(program);
  const IntegerBias biases(plan, EraOf(program), quantizers, &types);
  for (const Site& site : plan.sites) {
    if (site.role != SlotRole::BIAS) continue;
    RETURN_IF_ERROR(CheckBias(site, biases));
    if (BiasBitsOf(target) == site.spec.bits()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("\"", site.value->variable().name(), "\": a bias in int", site.spec.bits(),
                     ", which target ", target.name(), " does not add"));
  }
  return CheckTrainedScales(program, plan);
}

}  // namespace fixpoint
