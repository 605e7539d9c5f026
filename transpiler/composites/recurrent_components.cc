// Recurrent layers over sequences of one known length: a product for all steps, and a product and
// the gates for each.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "ops/dims.h"
#include "proto/program/program.h"
#include "transpiler/composites/component_text.h"
#include "transpiler/composites/components.h"
#include "transpiler/composites/recurrent_states.h"

namespace fixpoint {
namespace {

// More steps would make more ops than a pattern has.
constexpr int64_t kMostSteps = 128;

class Unrolling {
 public:
  Unrolling(const OpAttributes& attributes, int64_t steps)
      : mode_(attributes.String("mode")),
        layers_(attributes.Int("num_layers")),
        directions_(attributes.Bool("is_bidirec") ? 2 : 1),
        hidden_size_(attributes.Int("hidden_size")),
        steps_(steps) {}

  int64_t states() const { return mode_ == "LSTM" ? 2 : 1; }
  int64_t gates() const { return mode_ == "LSTM" ? 4 : mode_ == "GRU" ? 3 : 1; }
  int64_t weights() const { return 4 * layers_ * directions_; }

  std::string Text() {
    std::string input = "input";
    for (int64_t layer = 0; layer < layers_; ++layer) {
      std::vector<std::string> outputs;
      const bool is_last = layer + 1 == layers_;
      for (int64_t direction = 0; direction < directions_; ++direction) {
        outputs.push_back(
            is_last && directions_ == 1 ? "out" : absl::StrCat("output", Suffix(layer, direction)));
        AddLayer(layer, direction, input, outputs.back());
      }
      input = outputs[0];
      if (directions_ == 1) continue;
      input = is_last ? "out" : absl::StrCat("both_outputs_", layer);
      Add("concat(X=[$0]) -> (Out=$1) {axis=2}", absl::StrJoin(outputs, ", "), input);
    }
    for (int64_t state = 0; state < states(); ++state) {
      Add("stack(X=[$0]) -> (Y=state_$1) {axis=0}", absl::StrJoin(last_[state], ", "), state);
    }
    return std::move(text_);
  }

 private:
  template <typename... Parts>
  void Add(absl::string_view format, const Parts&... parts) {
    absl::StrAppend(&text_, "  ", absl::Substitute(format, parts...), "\n");
  }

  // "", or what sets the layers, and the two directions of each, apart: "_1", "_1_backward".
  std::string Suffix(int64_t layer, int64_t direction) const {
    return absl::StrCat(layers_ > 1 ? absl::StrCat("_", layer) : "",
                        direction == 1 ? "_backward" : "");
  }

  // "i_0, i_1, i_2".
  std::string OfSteps(absl::string_view name) const {
    std::vector<std::string> names;
    for (int64_t t = 0; t < steps_; ++t) names.push_back(absl::StrCat(name, "_", t));
    return absl::StrJoin(names, ", ");
  }

  void AddLayer(int64_t layer, int64_t direction, const std::string& input,
                const std::string& output) {
    const std::string suffix = Suffix(layer, direction);
    const int64_t index = layer * directions_ + direction;
    const int64_t bias = 2 * (layers_ * directions_ + index);
    const auto named = [&suffix](absl::string_view name) { return absl::StrCat(name, suffix); };
    Add("matmul_v2(X=$0, Y=weight_$1) -> (Out=$2) {trans_x=false, trans_y=true}", input, 2 * index,
        named("input_product"));
    Add("elementwise_add(X=$0, Y=weight_$1) -> (Out=$2) {axis=-1}", named("input_product"), bias,
        named("input_part"));
    // Rows of all steps, because unstack has no gradient op.
    Add("reshape2(X=$0) -> (Out=$1, XShape=$2) {shape=[-1, $3]}", named("input_part"),
        named("input_rows"), named("input_part_shape"), gates() * hidden_size_);
    Add("split(X=$0) -> (Out=[$1]) {axis=0, num=$2}", named("input_rows"),
        OfSteps(named("input_part")), steps_);
    std::vector<std::string> state;
    for (int64_t s = 0; s < states(); ++s) {
      state.push_back(named(s == 0 ? "hidden" : "cell"));
      Add("slice(Input=prestate_$0) -> (Out=$1) {axes=[0], starts=[$2], ends=[$3], "
          "decrease_axis=[0]}",
          s, state[s], index, index + 1);
    }
    for (int64_t i = 0; i < steps_; ++i) {
      const int64_t t = direction == 0 ? i : steps_ - 1 - i;
      const std::string step = absl::StrCat(suffix, "_", t);
      Add("matmul_v2(X=$0, Y=weight_$1) -> (Out=state_product$2) {trans_x=false, trans_y=true}",
          state[0], 2 * index + 1, step);
      Add("elementwise_add(X=state_product$0, Y=weight_$1) -> (Out=state_part$0) {axis=-1}", step,
          bias + 1);
      if (mode_ == "LSTM") {
        AddLstmStep(step, &state);
      } else if (mode_ == "GRU") {
        AddGruStep(step, &state);
      } else {
        Add("elementwise_add(X=input_part$0, Y=state_part$0) -> (Out=sum$0) {axis=-1}", step);
        Add("$1(X=sum$0) -> (Out=hidden$0)", step, mode_ == "RNN_TANH" ? "tanh" : "relu");
        state[0] = absl::StrCat("hidden", step);
      }
    }
    for (int64_t s = 0; s < states(); ++s) last_[s].push_back(state[s]);
    Add("stack(X=[$0]) -> (Y=$1) {axis=0}", OfSteps(named("hidden")), output);
  }

  void AddLstmStep(const std::string& step, std::vector<std::string>* state) {
    const std::string hidden = absl::StrCat("hidden", step);
    const std::string cell = absl::StrCat("cell", step);
    Add("elementwise_add(X=input_part$0, Y=state_part$0) -> (Out=gates$0) {axis=-1}", step);
    Add("split(X=gates$0) -> (Out=[i$0, f$0, g$0, o$0]) {axis=1, num=4}", step);
    absl::StrAppend(&text_, LstmStateText({step, (*state)[1], cell, hidden}));
    *state = {hidden, cell};
  }

  // The bias of the candidate's state part stands inside the reset.
  void AddGruStep(const std::string& step, std::vector<std::string>* state) {
    const std::string hidden = absl::StrCat("hidden", step);
    Add("split(X=input_part$0) -> (Out=[input_r$0, input_z$0, input_n$0]) {axis=1, num=3}", step);
    Add("split(X=state_part$0) -> (Out=[state_r$0, state_z$0, state_n$0]) {axis=1, num=3}", step);
    Add("elementwise_add(X=input_r$0, Y=state_r$0) -> (Out=r$0) {axis=-1}", step);
    Add("elementwise_add(X=input_z$0, Y=state_z$0) -> (Out=z$0) {axis=-1}", step);
    Add("sigmoid(X=r$0) -> (Out=reset_gate$0)", step);
    Add("sigmoid(X=z$0) -> (Out=update_gate$0)", step);
    Add("elementwise_mul(X=reset_gate$0, Y=state_n$0) -> (Out=reset$0) {axis=-1}", step);
    Add("elementwise_add(X=input_n$0, Y=reset$0) -> (Out=n$0) {axis=-1}", step);
    Add("tanh(X=n$0) -> (Out=candidate$0)", step);
    absl::StrAppend(&text_, GruStateText(step, (*state)[0], hidden, GruUpdate::kKeeps));
    (*state)[0] = hidden;
  }

  const std::string mode_;
  const int64_t layers_;
  const int64_t directions_;
  const int64_t hidden_size_;
  const int64_t steps_;
  std::vector<std::string> last_[2];  // the last states, by state
  std::string text_;
};

std::string Numbered(absl::string_view name, int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(absl::StrCat(name, "_", i));
  return absl::StrJoin(names, ", ");
}

}  // namespace

ComponentsOrReason RnnComponents(const Op& op, const OpAttributes& attributes) {
  const Dims dims = DimsOfFloats(op, "Input");
  if (dims.size() != 3 || dims[0] < 1) {
    return NoComponents{"the length of its sequences, extent 0 of Input, is not known"};
  }
  if (dims[0] > kMostSteps) {
    return NoComponents{absl::StrCat("its sequences have ", dims[0],
                                     " steps, of which each would have its own ops; ",
                                     "want at most ", kMostSteps, ", or a loop over a unit")};
  }
  if (op.Input("SequenceLength") != nullptr) {
    return NoComponents{"its sequences have lengths of their own (SequenceLength)"};
  }
  const int64_t layers = attributes.Int("num_layers");
  if (attributes.Float("dropout_prob") != 0 && layers > 1) {
    return NoComponents{"it drops values between its layers"};
  }
  const std::string mode = attributes.String("mode");
  if (mode != "LSTM" && mode != "GRU" && mode != "RNN_TANH" && mode != "RNN_RELU") {
    return NoComponents{absl::StrCat("there is no mode ", mode)};
  }
  Unrolling unrolling(attributes, dims[0]);
  if (static_cast<int64_t>(op.Inputs("WeightList").size()) != unrolling.weights() ||
      static_cast<int64_t>(op.Inputs("PreState").size()) != unrolling.states() ||
      static_cast<int64_t>(op.Outputs("State").size()) != unrolling.states()) {
    return NoComponents{
        absl::StrCat("its weights and states are not those of ", layers, " layers of mode ", mode)};
  }
  Components components;
  components.before = absl::StrCat(
      VarLine("input", dims),
      absl::Substitute(
          "  rnn(Input=input, PreState=[$0], WeightList=[$1]) -> (Out=out, State=[$2]) "
          "{mode=\"$3\", num_layers=$4, is_bidirec=$5, hidden_size=$6, dropout_prob=$7}\n",
          Numbered("prestate", unrolling.states()), Numbered("weight", unrolling.weights()),
          Numbered("state", unrolling.states()), mode, layers,
          attributes.Bool("is_bidirec") ? "true" : "false", attributes.Int("hidden_size"),
          FloatText(attributes.Float("dropout_prob"))));
  components.after = unrolling.Text();
  return components;
}

}  // namespace fixpoint
