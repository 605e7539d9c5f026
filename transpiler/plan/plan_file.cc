#include "transpiler/plan/plan_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/deterministic_bytes.h"
#include "proto/status_macros.h"
#include "transpiler/plan/gradient_links.h"
#include "transpiler/plan/integer_bias.h"
#include "transpiler/plan/parameters.h"
#include "transpiler/plan/schedule.h"
#include "transpiler/plan/target.h"
#include "transpiler/plan/unknown_quantizer.h"

namespace fixpoint {
namespace {

QuantPlan::Origin ToProto(Value::Origin origin) {
  switch (origin) {
    case Value::Origin::kWrite:
      return QuantPlan::WRITE;
    case Value::Origin::kEntry:
      return QuantPlan::ENTRY;
    case Value::Origin::kLoopHead:
      return QuantPlan::LOOP_HEAD;
    case Value::Origin::kExit:
      return QuantPlan::EXIT;
  }
  return QuantPlan::WRITE;
}

QuantPlan::SlotRef ToProto(const Argument& argument) {
  QuantPlan::SlotRef ref;
  ref.set_block(argument.op().block().index());
  ref.set_op(argument.op().Index());
  ref.set_type(argument.op().type());
  ref.set_slot(std::string(argument.slot_name()));
  if (argument.index() != 0) ref.set_index(argument.index());
  return ref;
}

// Finds what a plan refers to, and collects what is wrong with it.
class PlanResolver {
 public:
  explicit PlanResolver(const Program& program) : program_(program) {
    for (int b = 0; b < program.block_count(); ++b) {
      std::vector<const Op*>& ops = ops_.emplace_back();
      for (const Op& op : program.block(b).ops()) ops.push_back(&op);
    }
  }

  const Op* FindOp(int block, int op, const std::string& type, const std::string& place) {
    if (block < 0 || block >= program_.block_count() || op < 0 ||
        op >= program_.block(block).op_count()) {
      Complain(place, ": the program has no op ", op, " in block ", block);
      return nullptr;
    }
    const Op* found = ops_[block][op];
    if (!type.empty() && found->type() != type) {
      Complain(place, ": op ", op, " of block ", block, " is ", found->type(), ", not ", type,
               "; the plan was made for another program");
      return nullptr;
    }
    return found;
  }

  const Argument* FindSlot(const QuantPlan::SlotRef& ref, const std::string& place) {
    const Op* op = FindOp(ref.block(), ref.op(), ref.type(), place);
    if (op == nullptr) return nullptr;
    const auto arguments = op->Inputs(ref.slot());
    if (ref.index() < 0 || ref.index() >= static_cast<int>(arguments.size())) {
      Complain(place, ": ", Describe(*op), " has no argument ", ref.index(), " in slot ",
               ref.slot());
      return nullptr;
    }
    return arguments[ref.index()];
  }

  const Value* FindValue(const QuantPlan::ValueRef& ref, const std::string& place) {
    if (ref.block() < 0 || ref.block() >= program_.block_count()) {
      Complain(place, ": the program has no block ", ref.block());
      return nullptr;
    }
    const Variable* variable = program_.Find(program_.block(ref.block()), ref.variable());
    if (variable == nullptr || variable->desc() == nullptr) {
      Complain(place, ": block ", ref.block(), " knows no variable \"", ref.variable(), "\"");
      return nullptr;
    }
    const bool has_op = ref.origin() != QuantPlan::ENTRY;
    const Op* op = has_op ? FindOp(ref.block(), ref.op(), "", place) : nullptr;
    if (has_op && op == nullptr) return nullptr;
    for (const Value* value : variable->values()) {
      if (ToProto(value->origin()) == ref.origin() && value->op() == op) return value;
    }
    Complain(place, ": \"", ref.variable(), "\" has no value of origin ",
             QuantPlan::Origin_Name(ref.origin()), " there");
    return nullptr;
  }

  template <typename... Parts>
  void Complain(const Parts&... parts) {
    constexpr size_t kMost = 20;
    if (complaints_.size() < kMost) complaints_.push_back(absl::StrCat(parts...));
  }

  absl::Status status() const {
    if (complaints_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(complaints_, "\n"));
  }

 private:
  const Program& program_;
  std::vector<std::vector<const Op*>> ops_;  // by block and position
  std::vector<std::string> complaints_;
};

Site ReadSite(const QuantPlan::Site& from, const std::string& place, PlanResolver& resolver) {
  Site site;
  site.value = resolver.FindValue(from.value(), place);
  site.role = from.role();
  if (site.role != SlotRole::WEIGHT && site.role != SlotRole::ACTIVATION &&
      site.role != SlotRole::BIAS) {
    resolver.Complain(place, ": role ", SlotRole::Role_Name(site.role),
                      "; want WEIGHT, ACTIVATION or BIAS");
  }
  site.spec = from.spec();
  const auto read = [&](const auto& refs, std::vector<const Argument*>& arguments) {
    for (const QuantPlan::SlotRef& ref : refs) {
      const Argument* argument = resolver.FindSlot(ref, place);
      if (argument == nullptr || site.value == nullptr) continue;
      if (argument->value() != site.value) {
        resolver.Complain(place, ": ", Describe(argument->op()),
                          " does not read that value in slot ", argument->slot_name());
      }
      arguments.push_back(argument);
    }
  };
  read(from.readers(), site.readers);
  read(from.gradient_readers(), site.gradient_readers);
  if (site.readers.empty() && !from.observe()) resolver.Complain(place, ": it has no reader");
  if (from.observe() && from.has_shared_scale()) {
    resolver.Complain(place, ": an observer shares no scale");
  }
  site.shared_scale = from.shared_scale();
  if (from.has_range()) site.range = from.range();
  site.observe = from.observe();
  return site;
}

// Each slot is rewired by one site, and a gradient op as its forward op is.
void CheckReaders(const Plan& plan, const GradientLinks& links, PlanResolver& resolver) {
  absl::flat_hash_set<const Argument*> rewired;
  struct Group {
    const Op* reader;
    size_t site;
  };
  absl::flat_hash_map<std::string, Group> sharing;
  for (size_t i = 0; i < plan.sites.size(); ++i) {
    const Site& site = plan.sites[i];
    if (site.value == nullptr) continue;
    const std::string place = absl::StrCat("site ", i, " (", site.value->variable().name(), ")");
    absl::flat_hash_set<const Argument*> wanted;
    for (const Argument* argument : site.readers) {
      const Op& op = argument->op();
      if (const Op* gradient = links.UncertainGradientOf(op);
          gradient != nullptr && !site.observe) {
        resolver.Complain(place, ": ", Describe(op), " reads it, and ", Describe(*gradient),
                          " may be its gradient op, or another op's; it has to stay float");
      }
      if (!IsForward(op)) {
        resolver.Complain(place, ": ", Describe(op), " is no forward op, and cannot be a reader");
      }
      for (const Argument* repeat : links.RepeatsOf(*argument)) wanted.insert(repeat);
      if (site.shared_scale.empty()) continue;
      const Group& group = sharing.try_emplace(site.shared_scale, Group{&op, i}).first->second;
      if (DeterministicBytes(plan.sites[group.site].spec) != DeterministicBytes(site.spec)) {
        resolver.Complain(place, ": its spec is not that of site ", group.site,
                          ", which shares its scale \"", site.shared_scale, "\"");
      }
      if (group.reader != &op) {
        resolver.Complain(place, ": ", Describe(op), " reads it, and another op what shares its ",
                          "scale \"", site.shared_scale, "\"; one op reads all of them");
      }
    }
    for (const Argument* argument : site.gradient_readers) {
      if (wanted.erase(argument) == 0) {
        resolver.Complain(place, ": slot ", argument->slot_name(), " of ", Describe(argument->op()),
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
      resolver.Complain(place, ": slot ", missing.slot_name(), " of ", Describe(missing.op()),
                        " repeats a reader, and is no gradient reader");
    }
    if (site.observe) continue;
    for (const auto* arguments : {&site.readers, &site.gradient_readers}) {
      for (const Argument* argument : *arguments) {
        if (!rewired.insert(argument).second) {
          resolver.Complain(place, ": slot ", argument->slot_name(), " of ",
                            Describe(argument->op()), " is rewired twice");
        }
      }
    }
  }
}

// A decision about an op has to be what the sites do to it. An op that stays float may read the
// quantized output of another, but no weight that is quantized for it.
void CheckDecisions(const Plan& plan, PlanResolver& resolver) {
  absl::flat_hash_set<const Op*> rewired;
  absl::flat_hash_map<const Op*, size_t> site_of_weight;
  for (size_t i = 0; i < plan.sites.size(); ++i) {
    if (plan.sites[i].observe) continue;
    for (const Argument* argument : plan.sites[i].readers) {
      rewired.insert(&argument->op());
      if (plan.sites[i].role == SlotRole::WEIGHT) site_of_weight.emplace(&argument->op(), i);
    }
  }
  const auto place_of = [&](size_t site) {
    return absl::StrCat("site ", site, " (", plan.sites[site].value->variable().name(), ")");
  };
  for (size_t i = 0; i < plan.decisions.size(); ++i) {
    const Op* op = plan.decisions[i].op;
    const auto site = site_of_weight.find(op);
    if (plan.decisions[i].quantized && !rewired.contains(op)) {
      resolver.Complain("decision ", i, ": ", Describe(*op),
                        " is to be quantized, and no site has it among its readers");
    } else if (!plan.decisions[i].quantized && site != site_of_weight.end()) {
      resolver.Complain("decision ", i, ": ", Describe(*op), " is to stay float, and ",
                        place_of(site->second), " has it among its readers");
    }
    if (site != site_of_weight.end()) site_of_weight.erase(site);
  }
  std::map<size_t, const Op*> undecided;
  for (const auto& [op, site] : site_of_weight) undecided.emplace(site, op);
  for (const auto& [site, op] : undecided) {
    resolver.Complain(place_of(site), ": ", Describe(*op),
                      " reads it, and no decision is about it");
  }
}

absl::Status CheckRange(absl::string_view variable, float min, float max) {
  if (std::isfinite(min) && std::isfinite(max) && min <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", variable, "\" goes from ", min, " to ", max,
                                                 "; a range is finite, and min is not above max"));
}

// Whether a bias site is added to sums of products of codes, which other sites make.
absl::Status CheckBias(const Site& site, const OperandSites& sites) {
  const auto wrong = [&site](const auto&... parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", site.value->variable().name(), "\": a bias ", parts...));
  };
  if (site.observe || !site.shared_scale.empty() || site.range.has_value() ||
      DeterministicBytes(site.spec) != DeterministicBytes(IntegerBiasSpec())) {
    return wrong("has the spec { bits: 32 }, and nothing else is said of it");
  }
  const VarType::TensorDesc* const tensor = site.value->variable().tensor();
  if (tensor == nullptr || tensor->data_type() != VarType::FP32 || tensor->dims_size() != 1 ||
      site.value->origin() != Value::Origin::kEntry || !site.value->variable().persistable()) {
    return wrong("is a parameter, FP32 of one dimension");
  }
  if (site.readers.size() != 1) return wrong("has one reader");
  const Op* const product = ProductOfBias(*site.readers.front());
  if (product == nullptr || !sites.Of(*product).are_of_product()) {
    return wrong(
        "is Y of an elementwise_add after a product, or Bias of one, whose activation and "
        "weight have sites");
  }
  if (product->block().index() != 0 || site.readers.front()->op().block().index() != 0) {
    return wrong("is added in block 0");
  }
  return absl::OkStatus();
}

// Whether the value of a site has the type, and the spec the fields, that its quantizer needs.
absl::Status CheckSite(const Site& site, const QuantizerTable& quantizers) {
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
  const Quantizer* quantizer = quantizers.Find(spec.quantizer());
  if (quantizer == nullptr) return wrong(UnknownQuantizer(spec.quantizer(), quantizers));
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
    if (!spec.has_axis() || spec.axis() < 0 || spec.axis() >= tensor.dims_size() ||
        tensor.dims(spec.axis()) <= 0) {
      return wrong("spec.axis is ", spec.has_axis() ? absl::StrCat(spec.axis()) : "missing",
                   "; want an axis of ", tensor.dims_size(), " whose extent is known");
    }
  }
  if (site.range.has_value()) {
    RETURN_IF_ERROR(CheckRange(variable.name(), site.range->min(), site.range->max()));
  }
  if (absl::Status status = CheckSpec(*quantizer, spec); !status.ok()) {
    return wrong(std::string(status.message()));
  }
  return absl::OkStatus();
}

}  // namespace

QuantPlan PlanToProto(const Plan& plan) {
  QuantPlan proto;
  proto.set_target(plan.target);
  proto.set_is_inference(plan.is_inference);
  if (plan.schedule.ByteSizeLong() > 0) *proto.mutable_schedule() = plan.schedule;
  for (const Site& site : plan.sites) {
    QuantPlan::Site& to = *proto.add_sites();
    QuantPlan::ValueRef& value = *to.mutable_value();
    value.set_variable(site.value->variable().name());
    value.set_origin(ToProto(site.value->origin()));
    if (site.value->op() != nullptr) {
      value.set_block(site.value->op()->block().index());
      value.set_op(site.value->op()->Index());
    } else {
      value.set_block(site.value->block().index());
    }
    to.set_role(site.role);
    *to.mutable_spec() = site.spec;
    for (const Argument* reader : site.readers) *to.add_readers() = ToProto(*reader);
    for (const Argument* reader : site.gradient_readers) {
      *to.add_gradient_readers() = ToProto(*reader);
    }
    if (!site.shared_scale.empty()) to.set_shared_scale(site.shared_scale);
    if (site.range.has_value()) *to.mutable_range() = *site.range;
    if (site.observe) to.set_observe(true);
  }
  for (const Decision& decision : plan.decisions) {
    QuantPlan::Decision& to = *proto.add_decisions();
    to.set_block(decision.op->block().index());
    to.set_op(decision.op->Index());
    to.set_type(decision.op->type());
    if (!decision.op->outputs().empty()) {
      to.set_output(std::string(decision.op->outputs()[0]->name()));
    }
    to.set_quantized(decision.quantized);
    to.set_reason(std::string(ReasonCode(decision.reason)));
    if (!decision.rule.empty()) to.set_rule(decision.rule);
    if (!decision.detail.empty()) to.set_detail(decision.detail);
  }
  return proto;
}

absl::StatusOr<Plan> PlanFromProto(const QuantPlan& proto, const Program& program) {
  PlanResolver resolver(program);
  Plan plan;
  plan.target = proto.target();
  plan.schedule = proto.schedule();
  plan.is_inference = proto.is_inference();
  for (int i = 0; i < proto.sites_size(); ++i) {
    const std::string place =
        absl::StrCat("site ", i, " (", proto.sites(i).value().variable(), ")");
    plan.sites.push_back(ReadSite(proto.sites(i), place, resolver));
  }
  for (int i = 0; i < proto.decisions_size(); ++i) {
    const QuantPlan::Decision& from = proto.decisions(i);
    const std::string place = absl::StrCat("decision ", i);
    Decision decision;
    decision.op = resolver.FindOp(from.block(), from.op(), from.type(), place);
    decision.quantized = from.quantized();
    const std::optional<Reason> reason = ReasonOfCode(from.reason());
    if (!reason.has_value()) {
      resolver.Complain(place, ": there is no reason \"", from.reason(), "\"");
    } else {
      decision.reason = *reason;
    }
    decision.rule = from.rule();
    decision.detail = from.detail();
    plan.decisions.push_back(std::move(decision));
  }
  if (!resolver.status().ok()) return resolver.status();
  std::vector<const Op*> rewired;
  absl::flat_hash_set<const Op*> seen;
  absl::flat_hash_set<std::string> types;
  for (const Site& site : plan.sites) {
    for (const Argument* argument : site.readers) {
      if (seen.insert(&argument->op()).second) rewired.push_back(&argument->op());
      types.insert(argument->op().type());
    }
  }
  const GradientLinks links(program, types);
  CheckReaders(plan, links, resolver);
  CheckDecisions(plan, resolver);
  if (!proto.has_is_inference()) plan.is_inference = !links.has_gradients();
  if (plan.is_inference == links.has_gradients()) {
    resolver.Complain("is_inference is ", plan.is_inference ? "true" : "false",
                      ", and the program has ", plan.is_inference ? "" : "no ", "gradient ops");
  }
  if (!resolver.status().ok()) return resolver.status();
  for (const Op* op : rewired) {
    for (const Op* gradient : links.GradientsOf(*op)) plan.gradients.emplace_back(op, gradient);
  }
  return plan;
}

absl::Status CheckPlan(const Plan& plan, const Target& target, const QuantizerTable& quantizers) {
  if (!plan.target.empty() && plan.target != target.name()) {
    return absl::FailedPreconditionError(
        absl::StrCat("it is for the target ", plan.target, ", and the target is ", target.name()));
  }
  RETURN_IF_ERROR(CheckSchedule(plan.schedule, target));
  const OperandSites sites(plan);
  Parameters parameters;
  for (const Site& site : plan.sites) {
    if (site.role == SlotRole::BIAS) {
      RETURN_IF_ERROR(CheckBias(site, sites));
      if (target.bias() == Target::INT32) continue;
      return absl::FailedPreconditionError(absl::StrCat("\"", site.value->variable().name(),
                                                        "\": a bias in int32, which target ",
                                                        target.name(), " does not add"));
    }
    RETURN_IF_ERROR(CheckSite(site, quantizers));
    // The result of a computation on a parameter, such as a cast, may be an observed output.
    const bool is_weight = parameters.IsWeight(*site.value);
    const bool is_parameter = is_weight && site.value->op() == nullptr;
    if (site.role == SlotRole::WEIGHT ? !is_weight : is_parameter) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", site.value->variable().name(), "\": role ", SlotRole::Role_Name(site.role),
          "; want WEIGHT of a parameter, and of nothing else"));
    }
    const absl::Status status =
        CheckAbilities(target, site.role, *quantizers.Find(site.spec.quantizer()), site.spec);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("\"", site.value->variable().name(),
                                                      "\": ", std::string(status.message())));
    }
  }
  return absl::OkStatus();
}

absl::Status MergeProfile(const RangeProfile& profile, const Program& program, Plan& plan) {
  absl::flat_hash_map<std::string, const RangeProfile::Entry*> entries;
  for (const RangeProfile::Entry& entry : profile.entries()) {
    RETURN_IF_ERROR(CheckRange(entry.variable(), entry.min(), entry.max()));
    const auto wrong = [&entry](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat("\"", entry.variable(), "\" ", what));
    };
    if (!entries.emplace(entry.variable(), &entry).second) return wrong("is there twice");
    bool is_known = false;
    for (int b = 0; b < program.block_count() && !is_known; ++b) {
      is_known = program.Find(program.block(b), entry.variable()) != nullptr;
    }
    if (!is_known) return wrong("is not a variable of the program");
  }
  for (Site& site : plan.sites) {
    // A bias has the steps of the product that it is added to.
    const auto it = entries.find(site.value->variable().name());
    if (it == entries.end() || site.role == SlotRole::BIAS) continue;
    site.range.emplace();
    site.range->set_min(it->second->min());
    site.range->set_max(it->second->max());
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
