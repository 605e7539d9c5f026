// train_scales: gives trained scales their gradients and their updates. For an activation x whose
// quantizer trains its scale s:
//
//   fake_quantize_learned(X=x, Scale=s) -> (Out=x.quant_dequant)
//   mul(X=x.quant_dequant, Y=w) -> (Out=y)
//   mul_grad(X=x.quant_dequant, Y=w, Out@GRAD=y@GRAD) -> (X@GRAD=x@GRAD, Y@GRAD=w@GRAD)
//   sgd(Param=w, Grad=w@GRAD, LearningRate=rate) -> (ParamOut=w)
//
//   ...
//   mul_grad(X=x.quant_dequant, ...) -> (X@GRAD=x.quant_dequant@GRAD, Y@GRAD=w@GRAD)
//   fake_quantize_learned_grad(X=x, Scale=s, Out@GRAD=x.quant_dequant@GRAD) ->
//       (X@GRAD=x@GRAD, Scale@GRAD=s@GRAD)
//   sgd(Param=w, Grad=w@GRAD, LearningRate=rate) -> (ParamOut=w)
//   sgd(Param=s, Grad=s@GRAD, LearningRate=rate) -> (ParamOut=s)
//
// Each gradient op of a reader is followed by a gradient op of the quantizer: its contribution to
// x's gradient is summed where the reader's was before. Weight decay and clipping, which are ops
// between the gradients of parameters and their updates, do not apply to a scale. If a schedule
// selects what readers read, the gradient of that op comes before the quantizer's; if it freezes
// scales, what the updates wrote is replaced, from that step on, by what was there before them.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/quantizers/formula_ops.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/program/role_variables.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/pipeline/op_templates.h"
#include "transpiler/plan/scale_training.h"
#include "transpiler/plan/schedule.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/found_rewrite.h"
#include "transpiler/train/role_pairs.h"
#include "transpiler/train/state_writer.h"
#include "transpiler/train/step_counter.h"
#include "transpiler/train/train_context.h"

namespace fixpoint {
namespace {

class ScaleTrainer {
 public:
  ScaleTrainer(Program* program, TrainContext* context, absl::string_view pass)
      : program_(*program),
        context_(*context),
        quantizers_(context->quantizers),
        pass_(pass),
        era_(EraOf(context->target)),
        rewriter_(program, pass),
        states_(program, context, &rewriter_),
        training_(*program),
        gradients_(GradientsByForwardOp(context->plan)),
        last_update_(training_.last_optimizer()),
        schedule_(ScheduleOf(context->plan)) {}

  absl::Status Train(const Site& site) {
    const Quantizer& quantizer = *quantizers_.Find(site.spec.quantizer());
    const QuantizerRecipe& recipe = *FindRecipe(quantizer, site.spec, era_);
    ASSIGN_OR_RETURN(const StateNames states, StatesOf(site, quantizer, recipe));
    // By trained state, what each gradient op adds to its gradient.
    std::vector<std::vector<std::string>> parts(states.size());
    const Op* last = nullptr;
    for (const Argument* reader : site.readers) {
      const std::vector<const Op*>& gradients = gradients_[&reader->op()];
      for (const GradientOutput& output :
           ScaleTraining::GradientOutputs(*reader, gradients, EraOf(program_))) {
        const Op* written = nullptr;
        ASSIGN_OR_RETURN(written, WriteGradient(site, quantizer, output, states, parts));
        if (last == nullptr || last->IsBefore(*written)) last = written;
      }
    }
    return WriteUpdate(site, quantizer, states, parts, *last);
  }

 private:
  // The variables that hold a quantizer's states, by name; those that are not declared yet are.
  using StateNames = std::vector<std::pair<const QuantizerState*, std::string>>;
  absl::StatusOr<StateNames> StatesOf(const Site& site, const Quantizer& quantizer,
                                      const QuantizerRecipe& recipe) {
    StateNames names;
    for (const QuantizerState& state : recipe.state) {
      ASSIGN_OR_RETURN(std::string name, states_.Add(site, quantizer, state));
      names.emplace_back(&state, std::move(name));
    }
    return names;
  }

  // Inserts the quantizer's gradient ops after a gradient op of a reader; returns the last of them.
  absl::StatusOr<const Op*> WriteGradient(const Site& site, const Quantizer& quantizer,
                                          const GradientOutput& output, const StateNames& states,
                                          std::vector<std::vector<std::string>>& parts) {
    const Variable& value = site.value->variable();
    const Variable& result = *site.readers.front()->variable();
    const Block& block = output.op->block();
    OpTemplates templates(program_, &rewriter_, block, era_, value.name());
    templates.Bind(Quantizer::kValue, value.name());
    for (const auto& [name, variable] : context_.quantizer_names[&site]) {
      templates.Bind(name, variable);
    }
    ASSIGN_OR_RETURN(const std::string of_result,
                     DeclareGradient(block, result.name(), value.desc()->type()));
    const std::string of_value = Redirect(output, of_result);
    ASSIGN_OR_RETURN(const ScheduledGradient scheduled,
                     WriteSelectGradient(site, output, of_result, of_value));
    templates.Bind(Quantizer::kResultGradient, scheduled.of_quantized);
    templates.Bind(Quantizer::kValueGradient, scheduled.of_value);
    for (size_t i = 0; i < states.size(); ++i) {
      const auto& [state, name] = states[i];
      if (!state->is_trained) continue;
      const VarType& type = program_.Find(block, name)->desc()->type();
      ASSIGN_OR_RETURN(std::string part, DeclareGradient(block, name, type));
      templates.Bind(Quantizer::GradientOf(*state), part);
      parts[i].push_back(std::move(part));
    }
    const Op* last = nullptr;
    ASSIGN_OR_RETURN(last, Write(templates, quantizer.GradientOps(UseOf(site, era_)), kBackward, {},
                                 *scheduled.last));
    const Op* of_value_by = last;
    if (!scheduled.of_float.empty()) {
      OpBuilder sum = rewriter_.New("sum");
      sum.Input("X", {scheduled.of_float, scheduled.of_value}).Output("Out", of_value);
      of_value_by = &Insert(sum, kBackward, {}, *last);
    }
    const std::vector<std::string> pair = TakeRolePair(*output.op, of_value, &rewriter_);
    if (!pair.empty()) AddTo(*of_value_by, kRoleVarAttr, pair);
    return last;
  }

  // The gradients between which a quantizer's gradient ops stand.
  struct ScheduledGradient {
    const Op* last;
    std::string of_quantized;
    std::string of_value;
    std::string of_float;  // what has to be added to that; "" for nothing
  };
  // Inserts, if a schedule selects what the readers read, the gradient op of the selection.
  absl::StatusOr<ScheduledGradient> WriteSelectGradient(const Site& site,
                                                        const GradientOutput& output,
                                                        const std::string& of_result,
                                                        const std::string& of_value) {
    const Op& select = *site.readers.front()->value()->op();
    ScheduledGradient gradient{output.op, of_result, of_value, ""};
    if (select.type() != kSelectFromStep) return gradient;
    const Variable& value = site.value->variable();
    const VarType& type = value.desc()->type();
    const Block& block = output.op->block();
    ASSIGN_OR_RETURN(gradient.of_quantized,
                     DeclareGradient(block, std::string(select.Input("X")->name()), type));
    OpBuilder op = rewriter_.New(absl::StrCat(kSelectFromStep, "_grad"));
    op.Input("Step", select.Input("Step")->name())
        .Input("Out@GRAD", of_result)
        .Output("X@GRAD", gradient.of_quantized)
        .Attr(*select.FindAttr("from_step"));
    if (of_value != kEmptyArgument) {
      ASSIGN_OR_RETURN(gradient.of_float, DeclareGradient(block, value.name(), type));
      ASSIGN_OR_RETURN(gradient.of_value, DeclareGradient(block, value.name(), type));
      op.Output("Before@GRAD", gradient.of_float);
    }
    gradient.last = &Insert(op, kBackward, {}, *output.op);
    return gradient;
  }

  // Makes a gradient op write what the quantizer's gradient ops then read; returns the name that it
  // wrote before, or would have written.
  std::string Redirect(const GradientOutput& output, const std::string& name) {
    const Op& op = *output.op;
    std::vector<std::string> marks;
    std::string before = kEmptyArgument;
    for (int index = static_cast<int>(op.Outputs(output.slot).size()); index <= output.index;
         ++index) {
      marks.push_back(AddedArgumentMark(output.slot, index));
      rewriter_.AddOutput(op, output.slot, index < output.index ? kEmptyArgument : name);
    }
    const Argument& argument = *op.Outputs(output.slot)[output.index];
    if (argument.name() != name) {
      before = std::string(argument.name());
      marks.push_back(ArgumentMark(output.slot, output.index, before));
      rewriter_.SetArgument(argument, name);
    }
    AddTo(op, kRewiredAttr, marks);
    return before;
  }

  void AddTo(const Op& op, absl::string_view attr, const std::vector<std::string>& strings) {
    std::vector<std::string> all =
        StringsAttr(op.desc(), attr).value_or(std::vector<std::string>());
    all.insert(all.end(), strings.begin(), strings.end());
    rewriter_.SetAttr(op, MakeStringsAttr(attr, all));
  }

  absl::Status WriteUpdate(const Site& site, const Quantizer& quantizer, const StateNames& states,
                           const std::vector<std::vector<std::string>>& parts,
                           const Op& last_gradient) {
    std::vector<OpDesc> ops = quantizer.UpdateOps(UseOf(site, era_));
    if (ops.empty()) return absl::OkStatus();
    const Block& block = program_.block(0);
    OpTemplates templates(program_, &rewriter_, block, era_, site.value->variable().name());
    templates.Bind(Quantizer::kLearningRate, training_.learning_rate()->name());
    templates.Bind(Quantizer::kValue, site.value->variable().name());
    std::vector<std::string> updated;
    for (size_t i = 0; i < states.size(); ++i) {
      const auto& [state, name] = states[i];
      templates.Bind(state->name, name);
      if (!state->is_trained) continue;
      ASSIGN_OR_RETURN(const std::string gradient, Sum(name, parts[i], last_gradient));
      templates.Bind(Quantizer::GradientOf(*state), gradient);
      updated.insert(updated.end(), {name, gradient});
    }
    ASSIGN_OR_RETURN(const KeptStates kept, KeepStates(states, ops));
    ASSIGN_OR_RETURN(last_update_,
                     Write(templates, std::move(ops), kOptimize, updated, *last_update_));
    return FreezeStates(kept);
  }

  // If a schedule freezes scales: copies the states that the update ops write and the formula
  // reads; returns each state's variable with its copy.
  using KeptStates = std::vector<std::pair<std::string, std::string>>;
  absl::StatusOr<KeptStates> KeepStates(const StateNames& states, const std::vector<OpDesc>& ops) {
    KeptStates kept;
    if (!schedule_.has_freeze_scales_from_step()) return kept;
    const Block& block = program_.block(0);
    for (const auto& [state, name] : states) {
      if (state->training_only || OpsThatWrite(ops, {state->name}).empty()) continue;
      ASSIGN_OR_RETURN(
          const Variable* copy,
          rewriter_.AddVariable(block, rewriter_.FreshName(absl::StrCat(name, ".kept")),
                                program_.Find(block, name)->desc()->type()));
      OpBuilder assign = rewriter_.New("assign");
      assign.Input("X", name).Output("Out", copy->name());
      last_update_ = &Insert(assign, kOptimize, {}, *last_update_);
      kept.emplace_back(name, copy->name());
    }
    return kept;
  }

  absl::Status FreezeStates(const KeptStates& kept) {
    for (const auto& [name, copy] : kept) {
      ASSIGN_OR_RETURN(const std::string counter,
                       AddStepCounter(program_, pass_, &states_, &rewriter_));
      OpBuilder select = rewriter_.New(kSelectFromStep);
      select.Input("Step", counter)
          .Input("X", copy)
          .Input("Before", name)
          .Output("Out", name)
          .Attr(MakeLongAttr("from_step", schedule_.freeze_scales_from_step()));
      last_update_ = &Insert(select, kOptimize, {}, *last_update_);
    }
    return absl::OkStatus();
  }

  // The gradient of a state, whose last part `after` computes.
  absl::StatusOr<std::string> Sum(const std::string& state, const std::vector<std::string>& parts,
                                  const Op& after) {
    if (parts.size() == 1) {
      AddTo(after, kRoleVarAttr, {state, parts.front()});
      return parts.front();
    }
    const Block& block = after.block();
    ASSIGN_OR_RETURN(std::string sum,
                     DeclareGradient(block, state, program_.Find(block, state)->desc()->type()));
    OpBuilder builder = rewriter_.New("sum");
    builder.Input("X", parts).Output("Out", sum);
    Insert(builder, kBackward, {state, sum}, after);
    return sum;
  }

  absl::StatusOr<std::string> DeclareGradient(const Block& block, const std::string& of,
                                              const VarType& type) {
    const std::string name = rewriter_.FreshName(absl::StrCat(of, kGradientSuffix));
    RETURN_IF_ERROR(rewriter_.AddVariable(block, name, type).status());
    return name;
  }

  // Inserts ops one after the other; returns the last.
  absl::StatusOr<const Op*> Write(OpTemplates& templates, std::vector<OpDesc> ops, int role,
                                  const std::vector<std::string>& op_role_var, const Op& after) {
    const Op* last = &after;
    for (OpDesc& op : ops) {
      ASSIGN_OR_RETURN(OpBuilder builder, templates.Fill(std::move(op)));
      last = &Insert(builder, role, op_role_var, *last);
    }
    return last;
  }

  const Op& Insert(OpBuilder& op, int role, const std::vector<std::string>& op_role_var,
                   const Op& after) {
    op.IntAttr("op_role", role);
    if (!op_role_var.empty()) op.StringsAttr(kRoleVarAttr, op_role_var);
    return rewriter_.InsertAfter(after, op.StringAttr(kInsertedByAttr, pass_));
  }

  Program& program_;
  TrainContext& context_;
  const QuantizerTable& quantizers_;
  const std::string pass_;
  const Era era_;
  Rewriter rewriter_;
  StateWriter states_;
  const ScaleTraining training_;
  absl::flat_hash_map<const Op*, std::vector<const Op*>> gradients_;
  const Op* last_update_;
  const Schedule schedule_;
};

class TrainScales final : public StagePass<TrainContext> {
 public:
  absl::string_view name() const override { return kTrainScalesPass; }
  absl::string_view doc() const override {
    return "Adds gradients and updates for the scales that are trained.";
  }
  std::vector<std::string> Requires() const override { return {"quantizers_inserted", "target"}; }
  std::vector<std::string> Establishes() const override { return {"scales_trained"}; }
  std::vector<std::string> ComesBefore() const override { return {"state_initialized"}; }
  // Invariant 7 is about what it does.
  bool IsHeldToPlan() const override { return false; }

  absl::Status RunIn(Program& program, TrainContext& context) const override {
    std::optional<ScaleTrainer> trainer;
    for (const Site& site : context.plan.sites) {
      if (!site.has_own_gradient) continue;
      if (!trainer.has_value()) trainer.emplace(&program, &context, name());
      RETURN_IF_ERROR(trainer->Train(site));
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeTrainScales() { return std::make_unique<TrainScales>(); }

}  // namespace fixpoint
