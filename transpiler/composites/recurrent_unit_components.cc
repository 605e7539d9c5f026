// Ops that are one step of a recurrent layer.

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "ops/dims.h"
#include "proto/program/program.h"
#include "transpiler/composites/component_text.h"
#include "transpiler/composites/components.h"
#include "transpiler/composites/recurrent_states.h"

namespace fixpoint {

ComponentsOrReason LstmUnitComponents(const Op& op, const OpAttributes& attributes) {
  const Dims dims = DimsOfFloats(op, "X");
  if (dims.size() != 2) return NoComponents{"its X declares no matrix of f32"};
  const double forget_bias = attributes.Float("forget_bias");
  const bool is_biased = forget_bias != 0;
  std::string after = absl::Substitute("  split(X=x) -> (Out=[i, $0, o, g]) {axis=1, num=4}\n",
                                       is_biased ? "unbiased_f" : "f");
  if (is_biased) {
    absl::StrAppend(&after, absl::Substitute("  scale(X=unbiased_f) -> (Out=f) "
                                             "{scale=1.0, bias=$0}\n",
                                             FloatText(forget_bias)));
  }
  LstmState state;
  state.cell_before = "cell_before";
  state.cell = "cell";
  state.hidden = "hidden";
  absl::StrAppend(&after, LstmStateText(state));
  return Components{
      absl::StrCat(VarLine("x", dims),
                   absl::Substitute("  lstm_unit(X=x, C_prev=cell_before) -> (C=cell, H=hidden) "
                                    "{forget_bias=$0}\n",
                                    FloatText(forget_bias))),
      after};
}

ComponentsOrReason GruUnitComponents(const Op& op, const OpAttributes& attributes) {
  const Dims dims = DimsOfFloats(op, "Input");
  const Dims weight = DimsOfFloats(op, "Weight");
  if (dims.size() != 2) return NoComponents{"its Input declares no matrix of f32"};
  if (std::string reason = WhyNoGruWeight(weight); !reason.empty()) return NoComponents{reason};
  const auto gate_function = GateFunctionOf("gate_activation", attributes.Int("gate_activation"));
  const auto candidate_function = GateFunctionOf("activation", attributes.Int("activation"));
  for (const auto* function : {&gate_function, &candidate_function}) {
    if (!function->ok()) return NoComponents{std::string(function->status().message())};
  }
  const bool keeps = attributes.Bool("origin_mode");
  const bool has_bias = op.Input("Bias") != nullptr;
  Components components;
  components.before = absl::StrCat(
      VarLine("input", dims), VarLine("weight", weight),
      absl::Substitute(
          "  gru_unit(Input=input, HiddenPrev=hidden_before, Weight=weight$0) -> (Hidden=hidden) "
          "{activation=$1, gate_activation=$2, origin_mode=$3}\n",
          has_bias ? ", Bias=bias" : "", attributes.Int("activation"),
          attributes.Int("gate_activation"), keeps ? "true" : "false"));
  GruStep step;
  step.input = has_bias ? "input_part" : "input";
  step.hidden_before = "hidden_before";
  step.hidden = "hidden";
  step.width = weight[0];
  step.gate_function = *gate_function;
  step.candidate_function = *candidate_function;
  step.update = keeps ? GruUpdate::kKeeps : GruUpdate::kReplaces;
  components.after = absl::StrCat(
      GruWeightsText("weight", step.width),
      has_bias ? "  elementwise_add(X=input, Y=bias) -> (Out=input_part) {axis=-1}\n" : "",
      GruStepText(step));
  return components;
}

}  // namespace fixpoint
