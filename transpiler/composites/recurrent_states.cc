#include "transpiler/composites/recurrent_states.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace fixpoint {
namespace {

// What the cell adds to the sum of a gate.
std::string PeepholeText(absl::string_view gate, absl::string_view step, absl::string_view cell) {
  return absl::Substitute(
      "  elementwise_mul(X=$2, Y=peephole_weight_$0) -> (Out=peephole_$0$1) {axis=-1}\n"
      "  elementwise_add(X=$0_without_peephole$1, Y=peephole_$0$1) -> (Out=$0$1) {axis=-1}\n",
      gate, step, cell);
}

}  // namespace

std::string FunctionText(GateFunction function, absl::string_view x, absl::string_view y) {
  constexpr const char* kOps[] = {"assign", "sigmoid", "tanh", "relu"};
  return absl::Substitute("  $0(X=$1) -> (Out=$2)\n", kOps[static_cast<int>(function)], x, y);
}

std::string LstmStateText(const LstmState& state) {
  const auto named = [&state](absl::string_view name) { return absl::StrCat(name, state.step); };
  const std::string output_gate =
      FunctionText(state.gate_function, named("o"), named("output_gate"));
  std::string text;
  if (state.has_peepholes) {
    text = absl::StrCat(PeepholeText("i", state.step, state.cell_before),
                        PeepholeText("f", state.step, state.cell_before));
  }
  absl::StrAppend(
      &text, FunctionText(state.gate_function, named("i"), named("input_gate")),
      FunctionText(state.gate_function, named("f"), named("forget_gate")),
      FunctionText(state.candidate_function, named("g"), named("candidate")),
      state.has_peepholes ? "" : output_gate,
      absl::Substitute("  elementwise_mul(X=forget_gate$0, Y=$1) -> (Out=kept$0) {axis=-1}\n"
                       "  elementwise_mul(X=input_gate$0, Y=candidate$0) -> (Out=added$0) "
                       "{axis=-1}\n"
                       "  elementwise_add(X=kept$0, Y=added$0) -> (Out=$2) {axis=-1}\n",
                       state.step, state.cell_before, state.cell));
  if (state.has_peepholes) {
    absl::StrAppend(&text, PeepholeText("o", state.step, state.cell), output_gate);
  }
  absl::StrAppend(&text, FunctionText(state.cell_function, state.cell, named("cell_tanh")),
                  absl::Substitute("  elementwise_mul(X=output_gate$0, Y=cell_tanh$0) -> (Out=$1) "
                                   "{axis=-1}\n",
                                   state.step, state.hidden));
  return text;
}

std::string GruStateText(absl::string_view step, absl::string_view hidden_before,
                         absl::string_view hidden, GruUpdate update) {
  const std::string candidate = absl::StrCat("candidate", step);
  const bool keeps = update == GruUpdate::kKeeps;
  const absl::string_view toward = keeps ? hidden_before : candidate;
  const absl::string_view from = keeps ? candidate : hidden_before;
  return absl::Substitute(
      "  elementwise_sub(X=$1, Y=$2) -> (Out=difference$0) {axis=-1}\n"
      "  elementwise_mul(X=update_gate$0, Y=difference$0) -> (Out=$3$0) {axis=-1}\n"
      "  elementwise_add(X=$3$0, Y=$2) -> (Out=$4) {axis=-1}\n",
      step, toward, from, keeps ? "kept" : "added", hidden);
}

std::string WhyNoGruWeight(DimsView weight) {
  if (weight.size() != 2 || weight[0] < 1 || weight[1] % 3 != 0 || weight[1] / 3 != weight[0]) {
    return absl::StrCat("its Weight is ", DimsText(weight), " of f32; want [D,3*D]");
  }
  // Attributes that count elements are 32 bits wide.
  if (ElementCount(weight).value_or(kUnknownDim) <= std::numeric_limits<int32_t>::max()) return "";
  return absl::StrCat("its Weight ", DimsText(weight), " has too many elements");
}

std::string GruWeightsText(absl::string_view weight, int64_t width) {
  return absl::Substitute(
      "  reshape2(X=$4) -> (Out=weights, XShape=weight_shape) {shape=[-1]}\n"
      "  split(X=weights) -> (Out=[gate_weights, candidate_weights]) {axis=0, sections=[$0, $1]}\n"
      "  reshape2(X=gate_weights) -> (Out=gate_weight, XShape=gate_weights_shape) "
      "{shape=[$2, $3]}\n"
      "  reshape2(X=candidate_weights) -> (Out=candidate_weight, XShape=candidate_weights_shape) "
      "{shape=[$2, $2]}\n",
      2 * width * width, width * width, width, 2 * width, weight);
}

std::string GruStepText(const GruStep& step) {
  return absl::StrCat(
      absl::Substitute(
          "  split(X=$0) -> (Out=[input_gates, input_n]) {axis=1, sections=[$1, $2]}\n"
          "  mul(X=$3, Y=gate_weight) -> (Out=state_product)\n"
          "  elementwise_add(X=input_gates, Y=state_product) -> (Out=gates) {axis=-1}\n"
          "  split(X=gates) -> (Out=[z, r]) {axis=1, num=2}\n",
          step.input, 2 * step.width, step.width, step.hidden_before),
      FunctionText(step.gate_function, "z", "update_gate"),
      FunctionText(step.gate_function, "r", "reset_gate"),
      absl::Substitute("  elementwise_mul(X=reset_gate, Y=$0) -> (Out=reset) {axis=-1}\n"
                       "  mul(X=reset, Y=candidate_weight) -> (Out=reset_product)\n"
                       "  elementwise_add(X=input_n, Y=reset_product) -> (Out=n) {axis=-1}\n",
                       step.hidden_before),
      FunctionText(step.candidate_function, "n", "candidate"),
      GruStateText("", step.hidden_before, step.hidden, step.update));
}

}  // namespace fixpoint
