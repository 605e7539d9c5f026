#include "transpiler/plan/plan_file.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/gradient_links.h"
#include "ops/recurrent_state.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/statistics/range_profile.h"
#include "runtime/statistics/range_rules.h"
#include "transpiler/plan/complaints.h"
#include "transpiler/plan/scale_training.h"
#include "transpiler/plan/target.h"
#include "transpiler/plan/validate_plan.h"

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
    complaints_.Add(parts...);
  }

  absl::Status status() const { return complaints_.status(); }

 private:
  const Program& program_;
  std::vector<std::vector<const Op*>> ops_;  // by block and position
  Complaints complaints_;
};

Site ReadSite(const QuantPlan::Site& from, const std::string& place, PlanResolver& resolver) {
  Site site;
  site.value = resolver.FindValue(from.value(), place);
  site.role = from.role();
  site.spec = from.spec();
  const auto read = [&](const auto& refs, std::vector<const Argument*>& arguments) {
    for (const QuantPlan::SlotRef& ref : refs) {
      arguments.push_back(resolver.FindSlot(ref, place));
    }
  };
  read(from.readers(), site.readers);
  read(from.gradient_readers(), site.gradient_readers);
  site.shared_scale = from.shared_scale();
  if (from.has_range()) site.range = from.range();
  site.observe = from.observe();
  return site;
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
    if (decision.state_bits != 0) to.set_state_bits(decision.state_bits);
  }
  return proto;
}

absl::StatusOr<Plan> PlanFromProto(const QuantPlan& proto, const Program& program,
                                   const Target& target, const QuantizerTable& quantizers) {
  if (proto.target().empty() && proto.sites().empty() && proto.decisions().empty()) {
    return absl::InvalidArgumentError("has no target, no sites and no decisions; want a plan");
  }
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
    decision.state_bits = from.state_bits();
    if (decision.state_bits != 0 && decision.op != nullptr) {
      const absl::Status bits = CheckStateBits(decision.state_bits);
      if (!bits.ok()) resolver.Complain(place, ": ", std::string(bits.message()));
      if (!HasStateBits(*decision.op)) {
        resolver.Complain(place, ": ", Describe(*decision.op), " has no hidden state");
      }
    }
    plan.decisions.push_back(std::move(decision));
  }
  RETURN_IF_ERROR(resolver.status());
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
  if (!proto.has_is_inference()) plan.is_inference = !links.has_gradients();
  for (const Op* op : rewired) {
    for (const Op* gradient : links.GradientsOf(*op)) plan.gradients.emplace_back(op, gradient);
  }
  FindTrainedScales(quantizers, EraOf(target), &plan);
  RETURN_IF_ERROR(ValidatePlan(plan, program, links, target, quantizers));
  return plan;
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
    // The steps of a bias are those of the product that it is added to.
    const auto it = entries.find(site.value->variable().name());
    if (it == entries.end() || site.role == SlotRole::BIAS) continue;
    ASSIGN_OR_RETURN(const ValueRange range, ChooseRange(*it->second, site.spec));
    site.range.emplace();
    site.range->set_min(range.min);
    site.range->set_max(range.max);
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
