#include "ops/recurrent_block.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

// The block that the slots and attributes of the op name variables of.
const Block* ForwardBlock(const Op& op) {
  const auto blocks = op.sub_blocks();
  if (blocks.size() != 1) return nullptr;
  return IsRecurrent(op) ? blocks[0] : blocks[0]->forward();
}

absl::StatusOr<const Variable*> Declared(const Block& block, absl::string_view name) {
  for (const Variable* variable : block.variables()) {
    if (variable->name() == name && variable->desc() != nullptr) return variable;
  }
  return absl::InvalidArgumentError(absl::StrCat("block ", block.index(), " declares no \"", name,
                                                 "\"; want a variable for what a step has of it"));
}

absl::Status CheckIsWritten(const Variable& variable) {
  const auto values = variable.values();
  if (!values.empty() && values.back()->origin() != Value::Origin::kEntry) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", variable.name(), "\" has no value after a step; want its block to write it"));
}

absl::StatusOr<std::vector<RecurrentBlock::Sequence>> SequencesOf(
    const Block& block, const std::vector<const Argument*>& arguments) {
  std::vector<RecurrentBlock::Sequence> sequences;
  for (const Argument* argument : arguments) {
    ASSIGN_OR_RETURN(const Variable* step, Declared(block, argument->name()));
    sequences.push_back({argument, step});
  }
  return sequences;
}

std::vector<std::string> NamesIn(const Op& op, absl::string_view attribute) {
  const OpDesc::Attr* const attr = op.FindAttr(attribute);
  if (attr == nullptr) return {};
  return {attr->strings().begin(), attr->strings().end()};
}

}  // namespace

bool IsRecurrent(const Op& op) { return op.type() == "recurrent"; }

absl::StatusOr<RecurrentBlock> RecurrentBlockOf(const Op& op) {
  const Block* const block = ForwardBlock(op);
  if (block == nullptr) {
    return absl::InvalidArgumentError("the op runs no block of steps; want one, in sub_block");
  }
  const auto of = [&op](absl::string_view slot) {
    const auto inputs = op.Inputs(slot);
    const auto outputs = op.Outputs(slot);
    std::vector<const Argument*> arguments(inputs.begin(), inputs.end());
    arguments.insert(arguments.end(), outputs.begin(), outputs.end());
    return arguments;
  };
  RecurrentBlock recurrent;
  ASSIGN_OR_RETURN(recurrent.inputs, SequencesOf(*block, of("inputs")));
  ASSIGN_OR_RETURN(recurrent.outputs, SequencesOf(*block, of("outputs")));
  for (const RecurrentBlock::Sequence& output : recurrent.outputs) {
    RETURN_IF_ERROR(CheckIsWritten(*output.step));
  }
  if (recurrent.inputs.empty()) {
    return absl::InvalidArgumentError(
        "inputs has no argument; want sequences, which say how many "
        "steps there are");
  }
  const auto initial = of("initial_states");
  const std::vector<std::string> before = NamesIn(op, "ex_states");
  const std::vector<std::string> after = NamesIn(op, "states");
  if (before.size() != initial.size() || after.size() != initial.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("initial_states has ", initial.size(), " variables, ex_states ", before.size(),
                     " and states ", after.size(), "; want one in each for each"));
  }
  for (size_t i = 0; i < initial.size(); ++i) {
    ASSIGN_OR_RETURN(const Variable* found, Declared(*block, before[i]));
    ASSIGN_OR_RETURN(const Variable* left, Declared(*block, after[i]));
    RETURN_IF_ERROR(CheckIsWritten(*left));
    recurrent.states.push_back({initial[i], found, left});
  }
  const OpDesc::Attr* const reverse = op.FindAttr("reverse");
  recurrent.is_reversed = reverse != nullptr && reverse->b();
  return recurrent;
}

}  // namespace fixpoint
