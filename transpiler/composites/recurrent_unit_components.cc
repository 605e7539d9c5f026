// Ops that are one step of a recurrent layer, and layers over sequences whose lengths a run knows.

#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "ops/dims.h"
#include "proto/program/program.h"
#include "transpiler/composites/component_text.h"
#include "transpiler/composites/components.h"
#include "transpiler/composites/recurrent_states.h"

namespace fixpoint {
namespace {

// The op that the attributes of gru_unit number; "" for the identity, null if there is none.
const char* FunctionOf(int64_t number) {
  constexpr const char* kFunctions[] = {"", "sigmoid", "tanh", "relu"};
  return number < 0 || number > 3 ? nullptr : kFunctions[number];
}

// `y` as a function of a sum; of the identity, as the sum itself.
std::string FunctionText(absl::string_view function, absl::string_view x, absl::string_view y) {
  return absl::Substitute("  $0(X=$1) -> (Out=$2)\n", function.empty() ? "assign" : function, x, y);
}

}  // namespace

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
  absl::StrAppend(&after, LstmStateText("", "cell_before", "cell", "hidden"));
  return Components{
      absl::StrCat(VarLine("x", dims),
                   absl::Substitute("  lstm_unit(X=x, C_prev=cell_before) -> (C=cell, H=hidden) "
                                    "{forget_bias=$0}\n",
                                    FloatText(forget_bias))),
      after};
}

// Weight holds [D,2D] of the gates, row by row, and then [D,D] of the candidate.
ComponentsOrReason GruUnitComponents(const Op& op, const OpAttributes& attributes) {
  const Dims dims = DimsOfFloats(op, "Input");
  const Dims weight = DimsOfFloats(op, "Weight");
  const bool is_weight =
      weight.size() == 2 && weight[0] > 0 && weight[1] % 3 == 0 && weight[1] / 3 == weight[0];
  if (dims.size() != 2 || !is_weight) {
    return NoComponents{absl::StrCat("its Input is ", DimsText(dims), " and its Weight ",
                                     DimsText(weight), " of f32; want [N,3*D] and [D,3*D]")};
  }
  const int64_t width = weight[0];
  // Attributes that count elements are 32 bits wide.
  if (ElementCount(weight).value_or(kUnknownDim) > std::numeric_limits<int32_t>::max()) {
    return NoComponents{absl::StrCat("its Weight ", DimsText(weight), " has too many elements")};
  }
  const char* const gate_function = FunctionOf(attributes.Int("gate_activation"));
  const char* const function = FunctionOf(attributes.Int("activation"));
  if (gate_function == nullptr || function == nullptr) {
    return NoComponents{
        "its activations are none of 0 (identity), 1 (sigmoid), 2 (tanh), 3 (relu)"};
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
  std::string& after = components.after;
  after = absl::Substitute(
      "  reshape2(X=weight) -> (Out=weights, XShape=weight_shape) {shape=[-1]}\n"
      "  split(X=weights) -> (Out=[gate_weights, candidate_weights]) {axis=0, sections=[$0, $1]}\n"
      "  reshape2(X=gate_weights) -> (Out=gate_weight, XShape=gate_weights_shape) "
      "{shape=[$2, $3]}\n"
      "  reshape2(X=candidate_weights) -> (Out=candidate_weight, XShape=candidate_weights_shape) "
      "{shape=[$2, $2]}\n",
      2 * width * width, width * width, width, 2 * width);
  if (has_bias) {
    absl::StrAppend(&after, "  elementwise_add(X=input, Y=bias) -> (Out=input_part) {axis=-1}\n");
  }
  absl::StrAppend(&after,
                  absl::Substitute(
                      "  split(X=$0) -> (Out=[input_gates, input_n]) {axis=1, sections=[$1, $2]}\n"
                      "  mul(X=hidden_before, Y=gate_weight) -> (Out=state_product)\n"
                      "  elementwise_add(X=input_gates, Y=state_product) -> (Out=gates) {axis=-1}\n"
                      "  split(X=gates) -> (Out=[z, r]) {axis=1, num=2}\n",
                      has_bias ? "input_part" : "input", 2 * width, width),
                  FunctionText(gate_function, "z", "update_gate"),
                  FunctionText(gate_function, "r", "reset_gate"),
                  "  elementwise_mul(X=reset_gate, Y=hidden_before) -> (Out=reset) {axis=-1}\n"
                  "  mul(X=reset, Y=candidate_weight) -> (Out=reset_product)\n"
                  "  elementwise_add(X=input_n, Y=reset_product) -> (Out=n) {axis=-1}\n",
                  FunctionText(function, "n", "candidate"),
                  GruStateText("", "hidden_before", "hidden",
                               keeps ? GruUpdate::kKeeps : GruUpdate::kReplaces));
  return components;
}

ComponentsOrReason OverOffsetsComponents(const Op& op, const OpAttributes&) {
  return NoComponents{absl::StrCat(
      "only a run knows the lengths of its sequences; want an rnn over [T,N,D] with T declared, "
      "or a loop over ",
      op.type(), "_unit")};
}

}  // namespace fixpoint
