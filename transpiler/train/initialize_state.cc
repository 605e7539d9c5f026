// initialize_state: gives each persistable variable that a pass declared its first value, by one
// fill_constant in the startup program. For the range x@scale of an activation x:
//
//   uniform_random() -> (Out=w) {shape=[2L, 1L, 3L, 3L]}
//
//   uniform_random() -> (Out=w) {shape=[2L, 1L, 3L, 3L]}
//   fill_constant() -> (Out=x@scale) {shape=[1L], dtype=5, value=0.001}
//
// Where a range that is known gives it, by the quantizer's ops, from the smallest and the largest
// value:
//
//   assign_value() -> (Out=x.range) {shape=[2], dtype=5, fp32_values=[-1.0, 3.0]}
//   reduce_max(X=x.range) -> (Out=x.most) {reduce_all=true}
//   assign(X=x.most) -> (Out=x@threshold)
//
// The same ops read a weight itself where the startup program runs beside the parameters.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/pipeline/op_templates.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/train_context.h"

namespace fixpoint {
namespace {

// The states with their variables, without those that the program has no use for.
std::vector<std::pair<std::string, std::string>> DeclaredStates(const FirstValues& values,
                                                                const TrainContext& context) {
  std::vector<std::pair<std::string, std::string>> declared;
  const auto& names = context.quantizer_names.at(values.site);
  for (const std::string& state : values.states) {
    const auto found = names.find(state);
    if (found != names.end()) declared.emplace_back(state, found->second);
  }
  return declared;
}

class InitializeState final : public StagePass<TrainContext> {
 public:
  absl::string_view name() const override { return "initialize_state"; }
  absl::string_view doc() const override {
    return "Initialises each new persistable variable once in the startup program.";
  }
  std::vector<std::string> Requires() const override {
    return {"quantizers_inserted", "startup_program"};
  }
  std::vector<std::string> Establishes() const override { return {"state_initialized"}; }

  absl::Status RunIn(Program&, TrainContext& context) const override {
    Program& startup = context.startup;
    Rewriter rewriter(&startup, name());
    const Block& block = startup.block(0);
    absl::flat_hash_set<std::string> computed;
    for (const FirstValues& values : context.first_values) {
      for (const auto& [state, variable] : DeclaredStates(values, context)) {
        computed.insert(variable);
      }
    }
    for (const NewState& state : context.new_state) {
      const VarType::TensorDesc& tensor = *state.variable->tensor();
      RETURN_IF_ERROR(rewriter
                          .AddTensor(block, state.variable->name(), tensor.data_type(),
                                     tensor.dims(), /*persistable=*/true)
                          .status());
      if (computed.contains(state.variable->name())) continue;
      rewriter.Append(block, rewriter.New("fill_constant")
                                 .Output("Out", state.variable->name())
                                 .LongsAttr("shape", tensor.dims())
                                 .IntAttr("dtype", tensor.data_type())
                                 .FloatAttr("value", static_cast<float>(state.initial_value))
                                 .BoolAttr("force_cpu", tensor.data_type() == VarType::INT64)
                                 .IntAttr("op_role", kForward)
                                 .StringAttr(kInsertedByAttr, name()));
    }
    for (const FirstValues& values : context.first_values) {
      RETURN_IF_ERROR(ComputeFrom(values, context, rewriter));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ComputeFrom(const FirstValues& values, const TrainContext& context,
                           Rewriter& rewriter) const {
    const Program& startup = context.startup;
    const Block& block = startup.block(0);
    const auto append = [&](OpBuilder& op) {
      rewriter.Append(block, op.IntAttr("op_role", kForward).StringAttr(kInsertedByAttr, name()));
    };
    const Variable& variable = values.site->value->variable();
    const std::string& value = variable.name();
    OpTemplates templates(startup, &rewriter, block, EraOf(context.target), value);
    if (values.are_of_weight) {
      if (startup.Find(block, value) == nullptr) {
        RETURN_IF_ERROR(rewriter
                            .AddTensor(block, value, VarType::FP32, variable.tensor()->dims(),
                                       /*persistable=*/true)
                            .status());
      }
      templates.Bind(Quantizer::kValue, value);
    } else {
      const std::string range = rewriter.FreshName(absl::StrCat(value, ".range"));
      RETURN_IF_ERROR(rewriter.AddTensor(block, range, VarType::FP32, {2}).status());
      append(rewriter.New("assign_value")
                 .Output("Out", range)
                 .IntsAttr("shape", {2})
                 .IntAttr("dtype", VarType::FP32)
                 .Attr(MakeFloatsAttr("fp32_values",
                                      {values.site->range->min(), values.site->range->max()})));
      templates.Bind(Quantizer::kValue, range);
    }
    for (const OpDesc& op : values.ops) {
      ASSIGN_OR_RETURN(OpBuilder filled, templates.Fill(op));
      append(filled);
    }
    for (const auto& [state, variable] : DeclaredStates(values, context)) {
      templates.Bind(variable, variable);
      ASSIGN_OR_RETURN(
          OpBuilder copy,
          templates.Fill(OpBuilder("assign").Input("X", state).Output("Out", variable).Build()));
      append(copy);
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeInitializeState() { return std::make_unique<InitializeState>(); }

}  // namespace fixpoint
