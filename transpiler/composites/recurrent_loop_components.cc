// Recurrent layers over sequences with offsets: a loop over the steps of the longest, in which the
// sequences stand in the order of their lengths, so that those that go on are the first rows of a
// state.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "ops/dims.h"
#include "proto/program/program.h"
#include "transpiler/composites/component_text.h"
#include "transpiler/composites/components.h"
#include "transpiler/composites/recurrent_states.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {
namespace {

// What a step hands to the next one.
struct LoopState {
  std::string name;    // "hidden"
  std::string first;   // the slot with what it is before the first step; "": it is 0
  std::string result;  // the slot with what it is after each step; "": nothing reads that
};

class LoopText {
 public:
  // `rows`: [rows,columns] of all sequences, each of which has an offset.
  LoopText(const std::string& rows, int64_t columns, int64_t width, bool is_reverse,
           std::vector<LoopState> states)
      : columns_(columns), width_(width), is_reverse_(is_reverse), states_(std::move(states)) {
    std::string input = rows;
    if (is_reverse_) {
      input = "reversed_input";
      Declare("reversed_input", columns, /*lod_level=*/1);
      Add("sequence_reverse(X=$0) -> (Y=reversed_input)", rows);
    }
    Begin(input);
  }

  // `before`: lines that give `rows`, and what the lines of `step` read from outside. These lead
  // from input_step, hidden_before and so on to hidden and so on.
  LoopComponents Around(const std::string& before, const std::string& step) {
    const std::string loop = Step(step);
    End();
    LoopComponents components;
    components.text =
        absl::StrCat("block 0 {\n", before, text_, "}\nblock 1 parent=0 {\n", loop, "}\n");
    for (const LoopState& state : states_) {
      if (!state.result.empty()) components.results.push_back(state.result);
    }
    return components;
  }

 private:
  template <typename... Parts>
  void Add(absl::string_view format, const Parts&... parts) {
    absl::StrAppend(&text_, "  ", absl::Substitute(format, parts...), "\n");
  }
  void Declare(absl::string_view name, int64_t columns, int lod_level) {
    Add("var $0 f32[-1,$1] lod=$2", name, columns, lod_level);
  }
  void DeclareArray(absl::string_view name, int64_t columns) {
    Add("var $0 tensor_array f32[-1,$1] lod=0", name, columns);
  }

  void Begin(const std::string& input) {
    Add("var ranks lod_rank_table");
    DeclareArray("input_steps", columns_);
    Add("lod_rank_table(X=$0) -> (Out=ranks) {level=0}", input);
    Add("max_sequence_len(RankTable=ranks) -> (Out=steps)");
    Add("lod_tensor_to_array(X=$0, RankTable=ranks) -> (Out=input_steps)", input);
    Add("fill_constant() -> (Out=step) {shape=[1L], dtype=3, value=0.0}");
    for (const LoopState& state : states_) {
      DeclareArray(absl::StrCat(state.name, "_states"), width_);
      if (state.first.empty()) {
        Add("fill_constant_batch_size_like(Input=$0) -> (Out=first_$1) {shape=[-1, $2], dtype=5, "
            "value=0.0, input_dim_idx=0, output_dim_idx=0}",
            input, state.name, width_);
      } else {
        Add("reorder_lod_tensor_by_rank(X=$0, RankTable=ranks) -> (Out=first_$1)", state.first,
            state.name);
      }
      Add("write_to_array(X=first_$0, I=step) -> (Out=$0_states)", state.name);
    }
    Add("less_than(X=step, Y=steps) -> (Out=goes_on)");
  }

  std::string Step(const std::string& step) {
    std::string outer = std::exchange(text_, {});
    Declare("input_step", columns_, 0);
    Add("read_from_array(X=input_steps, I=step) -> (Out=input_step)");
    for (const LoopState& state : states_) {
      Declare(absl::StrCat(state.name, "_state"), width_, 0);
      Add("read_from_array(X=$0_states, I=step) -> (Out=$0_state)", state.name);
      Add("shrink_rnn_memory(X=$0_state, RankTable=ranks, I=step) -> (Out=$0_before)", state.name);
    }
    text_ += step;
    for (const LoopState& state : states_) {
      if (state.result.empty()) continue;
      Add("write_to_array(X=$0, I=step) -> (Out=$0_steps)", state.name);
    }
    Add("increment(X=step) -> (Out=step) {step=1.0}");
    for (const LoopState& state : states_) {
      Add("write_to_array(X=$0, I=step) -> (Out=$0_states)", state.name);
    }
    Add("less_than(X=step, Y=steps) -> (Out=goes_on)");
    return std::exchange(text_, std::move(outer));
  }

  void End() {
    Add("var scopes step_scopes");
    for (const LoopState& state : states_) {
      if (!state.result.empty()) DeclareArray(absl::StrCat(state.name, "_steps"), width_);
    }
    Add("while(X=[], Condition=goes_on) -> (Out=[], StepScopes=scopes) {sub_block=block(1)}");
    for (const LoopState& state : states_) {
      if (state.result.empty()) continue;
      std::string rows = state.result;
      if (is_reverse_) {
        rows = absl::StrCat("reversed_", state.name);
        Declare(rows, width_, 1);
      }
      Add("array_to_lod_tensor(X=$0_steps, RankTable=ranks) -> (Out=$1)", state.name, rows);
      if (is_reverse_) Add("sequence_reverse(X=$0) -> (Y=$1)", rows, state.result);
    }
  }

  const int64_t columns_;
  const int64_t width_;
  const bool is_reverse_;
  const std::vector<LoopState> states_;
  std::string text_;
};

// "" if the op has nothing in the slot.
std::string SlotIfGiven(const Op& op, const char* slot) {
  return op.Input(slot) != nullptr ? slot : "";
}

// Whether something reads a result, now or in the next run.
bool IsResultRead(const Op& op, const char* slot) {
  const Argument* const result = op.Output(slot);
  if (result == nullptr || result->value() == nullptr) return false;
  return result->variable()->persistable() || !IsUnread(*result->value());
}

// Why there is no loop over Input, of which the first step of each sequence is a row.
std::string WhyNoLoop(const Op& op) {
  const Dims input = DimsOfFloats(op, "Input");
  if (input.size() != 2) return "its Input declares no matrix of f32";
  const int levels = op.Input("Input")->variable()->desc()->type().lod_tensor().lod_level();
  if (levels <= 1) return "";
  return absl::StrCat("its Input has ", levels, " levels of offsets; want one");
}

std::string WhyNoBias(const Op& op, int64_t columns) {
  const Dims bias = DimsOfFloats(op, "Bias");
  if (bias == Dims{1, columns}) return "";
  return absl::StrCat("its Bias is ", DimsText(bias), " of f32; want [1,", columns, "]");
}

}  // namespace

ComponentsOrReason LstmComponents(const Op& op, const OpAttributes& attributes) {
  if (std::string reason = WhyNoLoop(op); !reason.empty()) return NoComponents{reason};
  const Dims weight = DimsOfFloats(op, "Weight");
  if (weight.size() != 2 || weight[0] < 1 || weight[1] % 4 != 0 || weight[1] / 4 != weight[0]) {
    return NoComponents{absl::StrCat("its Weight is ", DimsText(weight), " of f32; want [D,4*D]")};
  }
  const int64_t width = weight[0];
  LstmState state;
  state.cell_before = "cell_before";
  state.cell = "cell";
  state.hidden = "hidden";
  state.has_peepholes = attributes.Bool("use_peepholes");
  for (const auto& [name, function] :
       {std::pair("gate_activation", &state.gate_function),
        std::pair("cell_activation", &state.cell_function),
        std::pair("candidate_activation", &state.candidate_function)}) {
    const auto found = GateFunctionOf(name, attributes.String(name));
    if (!found.ok()) return NoComponents{std::string(found.status().message())};
    *function = *found;
  }
  const int64_t columns = 4 * width;
  const bool has_peepholes = state.has_peepholes;
  if (std::string reason = WhyNoBias(op, has_peepholes ? columns + 3 * width : columns);
      !reason.empty()) {
    return NoComponents{reason};
  }
  std::string before;
  if (has_peepholes) {
    before = absl::Substitute(
        "  split(X=Bias) -> (Out=[gate_bias, peephole_weight_i, peephole_weight_f, "
        "peephole_weight_o]) {axis=1, sections=[$0, $1, $1, $1]}\n",
        columns, width);
  }
  absl::StrAppend(
      &before, absl::Substitute("  var input_part f32[-1,$0] lod=1\n", columns),
      absl::Substitute("  elementwise_add(X=Input, Y=$0) -> (Out=input_part) {axis=-1}\n",
                       has_peepholes ? "gate_bias" : "Bias"));
  const char* const sum = has_peepholes ? "_without_peephole" : "";
  const std::string step = absl::StrCat(
      "  mul(X=hidden_before, Y=Weight) -> (Out=state_product)\n"
      "  elementwise_add(X=input_step, Y=state_product) -> (Out=gates) {axis=-1}\n",
      absl::Substitute("  split(X=gates) -> (Out=[g, i$0, f$0, o$0]) {axis=1, num=4}\n", sum),
      LstmStateText(state));
  LoopText loop("input_part", columns, width, attributes.Bool("is_reverse"),
                {{"hidden", SlotIfGiven(op, "H0"), "Hidden"},
                 {"cell", SlotIfGiven(op, "C0"), IsResultRead(op, "Cell") ? "Cell" : ""}});
  return loop.Around(before, step);
}

ComponentsOrReason GruComponents(const Op& op, const OpAttributes& attributes) {
  if (std::string reason = WhyNoLoop(op); !reason.empty()) return NoComponents{reason};
  const Dims weight = DimsOfFloats(op, "Weight");
  if (std::string reason = WhyNoGruWeight(weight); !reason.empty()) return NoComponents{reason};
  const auto gate_function =
      GateFunctionOf("gate_activation", attributes.String("gate_activation"));
  const auto candidate_function = GateFunctionOf("activation", attributes.String("activation"));
  for (const auto* function : {&gate_function, &candidate_function}) {
    if (!function->ok()) return NoComponents{std::string(function->status().message())};
  }
  GruStep step;
  step.input = "input_step";
  step.hidden_before = "hidden_before";
  step.hidden = "hidden";
  step.width = weight[0];
  step.gate_function = *gate_function;
  step.candidate_function = *candidate_function;
  step.update = attributes.Bool("origin_mode") ? GruUpdate::kKeeps : GruUpdate::kReplaces;
  const int64_t columns = 3 * step.width;
  std::string before = GruWeightsText("Weight", step.width);
  const bool has_bias = op.Input("Bias") != nullptr;
  if (has_bias) {
    if (std::string reason = WhyNoBias(op, columns); !reason.empty()) return NoComponents{reason};
    absl::StrAppend(&before, absl::Substitute("  var input_part f32[-1,$0] lod=1\n", columns),
                    "  elementwise_add(X=Input, Y=Bias) -> (Out=input_part) {axis=-1}\n");
  }
  LoopText loop(has_bias ? "input_part" : "Input", columns, step.width,
                attributes.Bool("is_reverse"), {{"hidden", SlotIfGiven(op, "H0"), "Hidden"}});
  return loop.Around(before, GruStepText(step));
}

}  // namespace fixpoint
