#include "ops/block_gradients.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/gradient_slots.h"
#include "ops/recurrent_block.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

constexpr char kGradientOfSteps[] = "recurrent_grad";
constexpr char kInnerNames[] = "original_output_grad";

// The slots of an op that runs a gradient block.
struct SlotNames {
  absl::string_view inputs;
  absl::string_view input_gradients;
  absl::string_view kept_runs;
  bool renames;  // whether the block has names of its own for the gradients of outputs
};

const SlotNames* SlotNamesOf(absl::string_view type) {
  static constexpr SlotNames kWhile = {"X", "X@GRAD", "StepScopes", true};
  static constexpr SlotNames kConditional = {"Input", "Input@GRAD", "Scope", false};
  static constexpr SlotNames kSteps = {"inputs", "inputs@GRAD", "step_scopes", false};
  if (type == kGradientOfSteps) return &kSteps;
  if (type == "while_grad") return &kWhile;
  return type == "conditional_block_grad" ? &kConditional : nullptr;
}

using VariablesByName = absl::flat_hash_map<std::string, const Variable*>;

VariablesByName NamedIn(const Block& block) {
  VariablesByName named;
  for (const Op& op : block.ops()) {
    for (const auto& arguments : {op.inputs(), op.outputs()}) {
      for (const Argument* argument : arguments) {
        if (argument->variable() != nullptr) {
          named.try_emplace(std::string(argument->name()), argument->variable());
        }
      }
    }
  }
  return named;
}

const Variable* FindIn(const VariablesByName& named, const std::string& name) {
  const auto found = named.find(name);
  return found != named.end() ? found->second : nullptr;
}

bool IsTensor(const Variable& variable) {
  return variable.desc() != nullptr && variable.desc()->type().type() == VarType::LOD_TENSOR;
}

absl::Status AddGiven(const Op& op, const VariablesByName& named, BlockGradients* gradients) {
  const OpDesc::Attr* const names = op.FindAttr(kInnerNames);
  const auto outer = op.Inputs("Out@GRAD");
  const int count = names != nullptr ? names->strings_size() : 0;
  if (count != static_cast<int>(outer.size())) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", kInnerNames, " has ", count,
                                                   " names and Out@GRAD ", outer.size(),
                                                   "; want one for each"));
  }
  for (int i = 0; i < count; ++i) {
    const Argument* of = nullptr;
    for (const Argument* output : op.Inputs("Out")) {
      if (output->variable() == nullptr) continue;
      if (GradientName(output->name()) == names->strings(i)) of = output;
    }
    gradients->given.push_back({outer[i], FindIn(named, names->strings(i)), of});
  }
  return absl::OkStatus();
}

// What a step is given is its part of the gradients of outputs, and what the step after it made of
// the gradients of states.
absl::StatusOr<BlockGradients> GradientsOfSteps(const Op& op, const VariablesByName& named) {
  ASSIGN_OR_RETURN(const RecurrentBlock steps, RecurrentBlockOf(op));
  BlockGradients gradients;
  gradients.is_reversed = steps.is_reversed;
  const auto check_count = [](absl::string_view slot, size_t count, size_t want) -> absl::Status {
    if (count == want) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(slot, " has ", count, " variables; want ", want,
                                                   ", one for each that it is the gradient of"));
  };
  const auto outer = op.Inputs("outputs@GRAD");
  const auto of_inputs = op.Outputs("inputs@GRAD");
  const auto of_states = op.Outputs("initial_states@GRAD");
  const auto of_parameters = op.Outputs("parameters@GRAD");
  const auto parameters = op.Inputs("parameters");
  RETURN_IF_ERROR(check_count("outputs@GRAD", outer.size(), steps.outputs.size()));
  if (!of_inputs.empty()) {
    RETURN_IF_ERROR(check_count("inputs@GRAD", of_inputs.size(), steps.inputs.size()));
  }
  if (!of_states.empty()) {
    RETURN_IF_ERROR(check_count("initial_states@GRAD", of_states.size(), steps.states.size()));
  }
  if (!of_parameters.empty()) {
    RETURN_IF_ERROR(check_count("parameters@GRAD", of_parameters.size(), parameters.size()));
  }
  for (size_t i = 0; i < outer.size(); ++i) {
    const Variable* const inner = FindIn(named, GradientName(steps.outputs[i].step->name()));
    gradients.given.push_back({outer[i], inner, steps.outputs[i].outer, /*is_by_step=*/true});
  }
  for (size_t i = 0; i < steps.states.size(); ++i) {
    const RecurrentBlock::State& state = steps.states[i];
    gradients.given.push_back(
        {nullptr, FindIn(named, GradientName(state.after->name())), state.initial});
    const bool is_made = i < of_states.size() && of_states[i]->variable() != nullptr;
    gradients.made.push_back({state.initial, is_made ? of_states[i] : nullptr,
                              FindIn(named, GradientName(state.before->name())),
                              static_cast<int>(gradients.given.size()) - 1});
  }
  for (size_t i = 0; i < of_inputs.size(); ++i) {
    if (of_inputs[i]->variable() == nullptr) continue;
    gradients.made.push_back({steps.inputs[i].outer, of_inputs[i],
                              FindIn(named, GradientName(steps.inputs[i].step->name())),
                              /*carried=*/-1, /*is_by_step=*/true});
  }
  for (size_t i = 0; i < of_parameters.size(); ++i) {
    if (of_parameters[i]->variable() == nullptr) continue;
    gradients.made.push_back(
        {parameters[i], of_parameters[i], FindIn(named, GradientName(parameters[i]->name()))});
  }
  return gradients;
}

}  // namespace

bool BlockGradients::Has(const Variable& inner) const {
  const auto is_it = [&inner](const auto& gradient) { return gradient.inner == &inner; };
  return std::any_of(given.begin(), given.end(), is_it) ||
         std::any_of(made.begin(), made.end(), is_it);
}

const Block* ForwardBlockOf(const Op& op) {
  const auto blocks = op.sub_blocks();
  return blocks.size() == 1 ? blocks[0]->forward() : nullptr;
}

const Argument* KeptRunsOf(const Op& op) {
  const SlotNames* const slots = SlotNamesOf(absl::StrCat(op.type(), "_grad"));
  if (slots == nullptr) return nullptr;
  const Argument* const kept = op.Output(slots->kept_runs);
  return kept != nullptr && kept->variable() != nullptr ? kept : nullptr;
}

const Op* ReaderOfKeptRuns(const Op& op) {
  const Argument* const kept = KeptRunsOf(op);
  if (kept == nullptr || op.sub_blocks().size() != 1) return nullptr;
  for (const Argument* argument : kept->variable()->arguments()) {
    const bool is_reader =
        !argument->is_output() && ForwardBlockOf(argument->op()) == op.sub_blocks()[0];
    if (is_reader) return &argument->op();
  }
  return nullptr;
}

std::vector<const Variable*> CopiedForEachRun(const Op& loop) {
  std::vector<const Variable*> copied;
  if (loop.type() != "while" || loop.sub_blocks().size() != 1) return copied;
  absl::flat_hash_set<const Variable*> in_place;
  absl::flat_hash_set<const Variable*> written;
  for (const Op& op : loop.sub_blocks()[0]->ops()) {
    absl::flat_hash_set<const Variable*> read;
    for (const Argument* input : op.inputs()) read.insert(input->variable());
    for (const Argument* output : op.outputs()) {
      written.insert(output->variable());
      if (read.contains(output->variable())) in_place.insert(output->variable());
    }
  }
  for (const Argument* x : loop.Inputs("X")) {
    const Variable* const variable = x->variable();
    if (variable == nullptr || !IsTensor(*variable) || in_place.contains(variable)) continue;
    if (variable->persistable() && !written.contains(variable)) continue;
    copied.push_back(variable);
  }
  return copied;
}

absl::StatusOr<BlockGradients> BlockGradientsOf(const Op& op) {
  const SlotNames* const slots = SlotNamesOf(op.type());
  if (slots == nullptr || ForwardBlockOf(op) == nullptr) {
    return absl::InvalidArgumentError(
        "the op runs no gradient block; want a block with a forward_block_idx in sub_block");
  }
  const Argument* const kept_runs = op.Input(slots->kept_runs);
  if (kept_runs == nullptr || kept_runs->variable() == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("input ", slots->kept_runs, " is absent"));
  }
  const VariablesByName named = NamedIn(*op.sub_blocks()[0]);
  BlockGradients gradients;
  if (op.type() == kGradientOfSteps) {
    ASSIGN_OR_RETURN(gradients, GradientsOfSteps(op, named));
    gradients.kept_runs = kept_runs;
    return gradients;
  }
  gradients.kept_runs = kept_runs;
  if (slots->renames) RETURN_IF_ERROR(AddGiven(op, named, &gradients));
  const auto inputs = op.Inputs(slots->inputs);
  const auto made = op.Outputs(slots->input_gradients);
  if (inputs.size() != made.size()) {
    return absl::InvalidArgumentError(absl::StrCat(slots->input_gradients, " has ", made.size(),
                                                   " variables and ", slots->inputs, " ",
                                                   inputs.size(), "; want one for each"));
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i]->variable() == nullptr || inputs[i]->variable() == nullptr) continue;
    BlockGradients::Made gradient{inputs[i], made[i],
                                  FindIn(named, GradientName(inputs[i]->name()))};
    for (size_t k = 0; k < gradients.given.size(); ++k) {
      if (gradients.given[k].outer->name() == made[i]->name()) gradient.carried = k;
    }
    gradients.made.push_back(gradient);
  }
  return gradients;
}

}  // namespace fixpoint
