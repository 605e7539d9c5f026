#include "transpiler/patterns/derived_gradients.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/backward.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/role_variables.h"
#include "proto/program/slots.h"

namespace fixpoint {
namespace {

constexpr char kLossName[] = "pattern.loss";

std::string GradientOf(const std::string& name) { return absl::StrCat(name, kGradientSuffix); }

class Derivation {
 public:
  Derivation(const Match& match, const Replacement& replacement, const ReplacedGradients& replaced,
             const Program& program, Rewriter* rewriter)
      : match_(match),
        replacement_(replacement),
        replaced_(replaced),
        program_(program),
        block_(match.last_op().block()),
        rewriter_(*rewriter) {}

  std::variant<DerivedGradients, Obstacle> Derive() {
    for (const PatternOp& op : match_.pattern->after) {
      for (const PatternSlot& slot : op.inputs) {
        for (const int value : slot.values) {
          if (match_.pattern->values[value].kind == PatternValue::Kind::kResult) {
            return Hindered("`after` reads a result, whose gradient would have another part");
          }
        }
      }
    }
    // Gradients that nobody needs are not derived.
    if (replaced_.of_captures.empty()) return std::move(derived_);
    FindTrained();
    if (std::none_of(replaced_.of_results.begin(), replaced_.of_results.end(),
                     [this](const auto& of) { return trained_.contains(NameOf(of.first)); })) {
      return WithoutGradientOf(replaced_.of_captures.begin()->first);
    }
    absl::StatusOr<Program> small = SmallProgram();
    if (!small.ok()) return Hindered(std::string(small.status().message()));
    const auto parameters = AppendBackward(&*small, kLossName);
    if (!parameters.ok()) return WithoutGradient(parameters.status());
    NameEnds();
    TakeRoleVariables();
    return TakeOps(*small);
  }

 private:
  Obstacle Hindered(std::string reason) const { return {&match_.last_op(), std::move(reason)}; }

  // Names the first op of `after` that has no gradient, which is mostly why.
  Obstacle WithoutGradient(const absl::Status& why) const {
    for (const OpDesc& op : replacement_.ops) {
      if (!Any(op.inputs())) continue;
      const OpSchema& schema = *FindOpSchema(op.type());
      if (!schema.gradient_known() || schema.MakeGradient(op, EraOf(program_)).empty()) {
        return Hindered(absl::StrCat("the ", op.type(),
                                     " of `after` has no gradient, and the program has some"));
      }
    }
    return Hindered(absl::StrCat("`after` has no gradient: ", std::string(why.message())));
  }

  Obstacle WithoutGradientOf(int capture) const {
    return Hindered(absl::StrCat("`after` gives \"", NameOf(capture), "\" no gradient"));
  }

  // The captures that have a gradient, and what depends on them.
  void FindTrained() {
    for (const auto& [capture, contributions] : replaced_.of_captures) {
      trained_.insert(NameOf(capture));
    }
    for (const OpDesc& op : replacement_.ops) {
      if (!Any(op.inputs())) continue;
      for (const OpDesc::Var& slot : op.outputs()) {
        trained_.insert(slot.arguments().begin(), slot.arguments().end());
      }
    }
  }
  bool Any(const Slots& slots) const {
    return std::any_of(slots.begin(), slots.end(), [this](const OpDesc::Var& slot) {
      return std::any_of(slot.arguments().begin(), slot.arguments().end(),
                         [this](const std::string& name) { return trained_.contains(name); });
    });
  }

  const std::string& NameOf(int value) const { return replacement_.names[value]; }

  // The ops of `after` and a loss that depends on the results whose gradients are there. A capture
  // that gets a gradient is a parameter there, and nothing else that is captured.
  absl::StatusOr<Program> SmallProgram() const {
    ProgramDesc desc;
    const ProgramDesc& whole = program_.Proto();
    if (whole.has_version()) *desc.mutable_version() = whole.version();
    if (whole.has_op_version_map()) *desc.mutable_op_version_map() = whole.op_version_map();
    BlockDesc& block = *desc.add_blocks();
    block.set_idx(0);
    block.set_parent_idx(-1);
    absl::flat_hash_set<std::string> declared;
    for (size_t i = 0; i < replacement_.names.size(); ++i) {
      const PatternValue::Kind kind = match_.pattern->values[i].kind;
      const Variable* const variable = program_.Find(block_, replacement_.names[i]);
      if (variable == nullptr || variable->desc() == nullptr ||
          !declared.insert(replacement_.names[i]).second) {
        continue;
      }
      VarDesc& var = *block.add_vars();
      var = *variable->desc();
      const bool is_capture = kind == PatternValue::Kind::kCapture;
      var.set_persistable(is_capture && trained_.contains(var.name()));
      var.set_stop_gradient(!trained_.contains(var.name()));
    }
    for (const VarDesc& made : replacement_.made) {
      VarDesc& var = *block.add_vars();
      var = made;
      var.set_stop_gradient(!trained_.contains(var.name()));
    }
    for (const OpDesc& op : replacement_.ops) *block.add_ops() = op;
    OpBuilder sum("sum");
    for (const auto& [result, gradient] : replaced_.of_results) {
      const std::string mean = absl::StrCat(kLossName, ".", result);
      *block.add_vars() = MakeTensorVar(mean, VarType::FP32, {1});
      *block.add_ops() = OpBuilder("mean").Input("X", NameOf(result)).Output("Out", mean).Build();
      sum.Input("X", mean);
    }
    *block.add_vars() = MakeTensorVar(kLossName, VarType::FP32, {1});
    *block.add_ops() = sum.Output("Out", kLossName).Build();
    return Program::Create(std::move(desc), "");
  }

  // What the program calls the gradients of results and captures; and what is no longer added.
  void NameEnds() {
    for (const auto& [result, gradient] : replaced_.of_results) {
      names_[GradientOf(NameOf(result))] = gradient->variable().name();
      of_results_.insert(GradientOf(NameOf(result)));
    }
    for (const auto& [capture, contributions] : replaced_.of_captures) {
      std::string& name = names_[GradientOf(NameOf(capture))];
      name = contributions[0]->variable().name();
      if (contributions.size() == 1) continue;
      const Op& sum = contributions[0]->readers()[0]->op();
      if (sum.inputs().size() == contributions.size()) {
        derived_.dropped_sums.push_back(&sum);
        name = std::string(sum.outputs()[0]->name());
        continue;
      }
      for (size_t i = 1; i < contributions.size(); ++i) {
        derived_.dropped_addends.push_back(contributions[i]->readers()[0]);
      }
    }
  }

  // Which op writes the gradient of which parameter: what the replaced ops said of it.
  void TakeRoleVariables() {
    const auto take = [this](const Op& op) {
      const std::vector<std::string> pairs = RoleVariables(op.desc());
      for (size_t i = 0; i + 1 < pairs.size(); i += 2) parameter_of_[pairs[i + 1]] = pairs[i];
    };
    for (const Op* op : replaced_.ops) take(*op);
    for (const Op* sum : derived_.dropped_sums) take(*sum);
  }

  std::variant<DerivedGradients, Obstacle> TakeOps(const Program& small) {
    for (const Op& op : small.block(0).ops()) {
      if ((op.role() & kBackward) == 0 || LeadsToResults(op)) continue;
      OpDesc taken = op.desc();
      Rename(small, taken.mutable_inputs());
      Rename(small, taken.mutable_outputs());
      for (const OpDesc::Var& slot : taken.outputs()) {
        written_.insert(slot.arguments().begin(), slot.arguments().end());
      }
      NameParameters(&taken);
      derived_.ops.push_back(std::move(taken));
    }
    for (const auto& [capture, contributions] : replaced_.of_captures) {
      if (!written_.contains(names_.at(GradientOf(NameOf(capture))))) {
        return WithoutGradientOf(capture);
      }
    }
    return std::move(derived_);
  }

  // Whether the op is of the small program alone: it leads from the loss to the results.
  bool LeadsToResults(const Op& op) const {
    return std::any_of(op.outputs().begin(), op.outputs().end(), [this](const Argument* output) {
      const std::string name(output->name());
      return of_results_.contains(name) || absl::StartsWith(name, kLossName);
    });
  }

  void Rename(const Program& small, Slots* slots) {
    for (OpDesc::Var& slot : *slots) {
      for (std::string& name : *slot.mutable_arguments()) {
        if (name == kEmptyArgument) continue;
        const auto known = names_.find(name);
        if (known != names_.end()) {
          name = known->second;
        } else if (!IsOfReplacement(name)) {
          name = Declare(*small.Find(small.block(0), name)->desc());
        }
      }
    }
  }

  bool IsOfReplacement(const std::string& name) const {
    return std::find(replacement_.names.begin(), replacement_.names.end(), name) !=
           replacement_.names.end();
  }

  // Declares a gradient inside the replacement, and returns what it is called.
  std::string Declare(VarDesc made) {
    std::string name = rewriter_.FreshName(made.name());
    while (taken_.contains(name)) name = rewriter_.FreshName(absl::StrCat(name, "_1"));
    taken_.insert(name);
    names_[made.name()] = name;
    made.set_name(name);
    derived_.made.push_back(std::move(made));
    return name;
  }

  void NameParameters(OpDesc* op) const {
    std::vector<std::string> pairs;
    for (const OpDesc::Var& slot : op->outputs()) {
      for (const std::string& name : slot.arguments()) {
        const auto parameter = parameter_of_.find(name);
        if (parameter != parameter_of_.end()) pairs.insert(pairs.end(), {parameter->second, name});
      }
    }
    // 1.x writes it only where it says something.
    if (!pairs.empty() || EraOf(program_) == Era::kPaddle2) {
      SetAttr(MakeStringsAttr(kRoleVarAttr, pairs), op);
      return;
    }
    auto& attrs = *op->mutable_attrs();
    attrs.erase(
        std::remove_if(attrs.begin(), attrs.end(),
                       [](const OpDesc::Attr& attr) { return attr.name() == kRoleVarAttr; }),
        attrs.end());
  }

  const Match& match_;
  const Replacement& replacement_;
  const ReplacedGradients& replaced_;
  const Program& program_;
  const Block& block_;
  Rewriter& rewriter_;
  absl::flat_hash_set<std::string> trained_;             // names that get a gradient
  absl::flat_hash_map<std::string, std::string> names_;  // in the program, by that in the small one
  absl::flat_hash_set<std::string> of_results_;
  absl::flat_hash_set<std::string> taken_;
  absl::flat_hash_set<std::string> written_;
  absl::flat_hash_map<std::string, std::string> parameter_of_;  // by its gradient
  DerivedGradients derived_;
};

}  // namespace

std::variant<DerivedGradients, Obstacle> DeriveGradients(const Match& match,
                                                         const Replacement& replacement,
                                                         const ReplacedGradients& replaced,
                                                         const Program& program,
                                                         Rewriter* rewriter) {
  return Derivation(match, replacement, replaced, program, rewriter).Derive();
}

}  // namespace fixpoint
