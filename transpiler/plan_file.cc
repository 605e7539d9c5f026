#include "transpiler/plan_file.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "transpiler/gradient_links.h"

namespace fixpoint {
namespace {

class Positions {
 public:
  explicit Positions(const Program& program) {
    for (int b = 0; b < program.block_count(); ++b) {
      std::vector<const Op*>& ops = ops_.emplace_back();
      for (const Op& op : program.block(b).ops()) {
        if (op.inserted()) continue;
        position_[&op] = static_cast<int>(ops.size());
        ops.push_back(&op);
      }
    }
  }

  int Of(const Op& op) const { return position_.at(&op); }
  const Op* At(int block, int position) const {
    if (block < 0 || block >= static_cast<int>(ops_.size())) return nullptr;
    const std::vector<const Op*>& ops = ops_[block];
    return position < 0 || position >= static_cast<int>(ops.size()) ? nullptr : ops[position];
  }

 private:
  std::vector<std::vector<const Op*>> ops_;
  absl::flat_hash_map<const Op*, int> position_;
};

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

QuantPlan::SlotRef ToProto(const Argument& argument, const Positions& positions) {
  QuantPlan::SlotRef ref;
  ref.set_block(argument.op().block().index());
  ref.set_op(positions.Of(argument.op()));
  ref.set_type(argument.op().type());
  ref.set_slot(std::string(argument.slot_name()));
  if (argument.index() != 0) ref.set_index(argument.index());
  return ref;
}

// Reads a plan's references, and collects what is wrong with them.
class Reader {
 public:
  explicit Reader(const Program& program) : program_(program), positions_(program) {}

  const Op* FindOp(int block, int op, const std::string& type, const std::string& place) {
    const Op* found = positions_.At(block, op);
    if (found == nullptr) {
      Complain(place, ": the program has no op ", op, " in block ", block);
    } else if (!type.empty() && found->type() != type) {
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
    if (complaints_.size() < kMost) complaints_.push_back(absl::StrCat("plan: ", parts...));
  }

  absl::Status status() const {
    if (complaints_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(complaints_, "\n"));
  }

 private:
  const Program& program_;
  const Positions positions_;
  std::vector<std::string> complaints_;
};

Site ReadSite(const QuantPlan::Site& from, const std::string& place, Reader& reader) {
  Site site;
  site.value = reader.FindValue(from.value(), place);
  site.role = from.role();
  site.spec = from.spec();
  const auto read = [&](const auto& refs, std::vector<const Argument*>& arguments) {
    for (const QuantPlan::SlotRef& ref : refs) {
      const Argument* argument = reader.FindSlot(ref, place);
      if (argument == nullptr || site.value == nullptr) continue;
      if (argument->value() != site.value) {
        reader.Complain(place, ": ", Describe(argument->op()), " does not read that value in slot ",
                        argument->slot_name());
      }
      arguments.push_back(argument);
    }
  };
  read(from.readers(), site.readers);
  read(from.gradient_readers(), site.gradient_readers);
  if (site.readers.empty() && !from.observe()) reader.Complain(place, ": it has no reader");
  site.shared_scale = from.shared_scale();
  if (from.has_range()) site.range = from.range();
  site.observe = from.observe();
  return site;
}

}  // namespace

QuantPlan PlanToProto(const Plan& plan, const Program& program) {
  const Positions positions(program);
  QuantPlan proto;
  proto.set_target(plan.target);
  proto.set_is_inference(plan.is_inference);
  for (const Site& site : plan.sites) {
    QuantPlan::Site& to = *proto.add_sites();
    QuantPlan::ValueRef& value = *to.mutable_value();
    value.set_variable(site.value->variable().name());
    value.set_origin(ToProto(site.value->origin()));
    if (site.value->op() != nullptr) {
      value.set_block(site.value->op()->block().index());
      value.set_op(positions.Of(*site.value->op()));
    } else {
      value.set_block(site.value->block().index());
    }
    to.set_role(site.role);
    *to.mutable_spec() = site.spec;
    for (const Argument* reader : site.readers) *to.add_readers() = ToProto(*reader, positions);
    for (const Argument* reader : site.gradient_readers) {
      *to.add_gradient_readers() = ToProto(*reader, positions);
    }
    if (!site.shared_scale.empty()) to.set_shared_scale(site.shared_scale);
    if (site.range.has_value()) *to.mutable_range() = *site.range;
    if (site.observe) to.set_observe(true);
  }
  for (const Decision& decision : plan.decisions) {
    QuantPlan::Decision& to = *proto.add_decisions();
    to.set_block(decision.op->block().index());
    to.set_op(positions.Of(*decision.op));
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
  Reader reader(program);
  Plan plan;
  plan.target = proto.target();
  plan.is_given = true;
  plan.is_inference = proto.is_inference();
  for (int i = 0; i < proto.sites_size(); ++i) {
    const std::string place =
        absl::StrCat("site ", i, " (", proto.sites(i).value().variable(), ")");
    plan.sites.push_back(ReadSite(proto.sites(i), place, reader));
  }
  for (int i = 0; i < proto.decisions_size(); ++i) {
    const QuantPlan::Decision& from = proto.decisions(i);
    const std::string place = absl::StrCat("decision ", i);
    Decision decision;
    decision.op = reader.FindOp(from.block(), from.op(), from.type(), place);
    decision.quantized = from.quantized();
    const std::optional<Reason> reason = ReasonOfCode(from.reason());
    if (!reason.has_value()) {
      reader.Complain(place, ": there is no reason \"", from.reason(), "\"");
    } else {
      decision.reason = *reason;
    }
    decision.rule = from.rule();
    decision.detail = from.detail();
    plan.decisions.push_back(std::move(decision));
  }
  if (!reader.status().ok()) return reader.status();
  absl::flat_hash_set<const Op*> rewired;
  absl::flat_hash_set<std::string> types;
  for (const Site& site : plan.sites) {
    for (const Argument* argument : site.readers) {
      rewired.insert(&argument->op());
      types.insert(argument->op().type());
    }
  }
  const GradientLinks links(program, types);
  for (const Op* op : rewired) {
    for (const Op* gradient : links.GradientsOf(*op)) plan.gradients.emplace_back(op, gradient);
  }
  return plan;
}

absl::Status MergeProfile(const RangeProfile& profile, Plan& plan) {
  absl::flat_hash_map<std::string, const RangeProfile::Entry*> entries;
  for (const RangeProfile::Entry& entry : profile.entries()) {
    if (!std::isfinite(entry.min()) || !std::isfinite(entry.max()) || entry.min() > entry.max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("profile: \"", entry.variable(), "\" goes from ", entry.min(), " to ",
                       entry.max(), "; a range is finite, and min is not above max"));
    }
    entries[entry.variable()] = &entry;
  }
  for (Site& site : plan.sites) {
    const auto it = entries.find(site.value->variable().name());
    if (it == entries.end()) continue;
    site.range.emplace();
    site.range->set_min(it->second->min());
    site.range->set_max(it->second->max());
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
