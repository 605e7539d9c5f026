// Ops that run blocks, and those that choose by a number. A block finds the outer variables that it
// reads and writes in the frames of the blocks around it, so that the slots of these ops matter
// only for their conditions.

#include "absl/strings/str_cat.h"
#include "ops/unset_inputs.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

absl::StatusOr<const Block*> BlockOf(const OpRun& op) {
  const auto blocks = op.sub_blocks();
  if (blocks.size() == 1) return blocks[0];
  return absl::InvalidArgumentError(
      absl::StrCat("the op names ", blocks.size(), " blocks; want one, in sub_block"));
}

// Whether the one element of the first argument of a slot is true.
absl::StatusOr<bool> Holds(const OpRun& op, absl::string_view slot) {
  ASSIGN_OR_RETURN(const Array* condition, op.FindNow(slot));
  if (condition != nullptr && condition->size() == 1) return (*condition)[0] != 0;
  return absl::InvalidArgumentError(absl::StrCat(
      slot,
      condition != nullptr ? " is " + DimsText(condition->dims) : std::string(" has no value"),
      "; want one element"));
}

absl::Status While(OpRun& op) {
  ASSIGN_OR_RETURN(const Block* block, BlockOf(op));
  for (;;) {
    ASSIGN_OR_RETURN(const bool goes_on, Holds(op, "Condition"));
    if (!goes_on) return absl::OkStatus();
    RETURN_IF_ERROR(op.BeginIteration("Condition"));
    RETURN_IF_ERROR(op.RunBlock(*block));
  }
}

// Runs the block if the condition holds or, if it need not be a scalar, if no Cond is empty.
absl::Status ConditionalBlock(OpRun& op) {
  ASSIGN_OR_RETURN(const Block* block, BlockOf(op));
  bool runs = true;
  if (op.Bool("is_scalar_condition")) {
    ASSIGN_OR_RETURN(runs, Holds(op, "Cond"));
  } else {
    const std::vector<const Array*> conditions = op.Inputs("Cond");
    if (static_cast<int>(conditions.size()) != op.InputCount("Cond")) {
      return absl::InvalidArgumentError(
          "Cond holds a variable without a value; want each fed or written by an op before");
    }
    for (const Array* condition : conditions) runs = runs && condition->size() > 0;
  }
  return runs ? op.RunBlock(*block) : absl::OkStatus();
}

// The number of what Mask chooses among `count`.
absl::StatusOr<int> Chosen(const OpRun& op, int count) {
  RETURN_IF_ERROR(op.CheckSize("Mask", 1));
  const double mask = op.Input("Mask")[0];
  if (mask >= 0 && mask < count) return static_cast<int>(mask);
  return absl::InvalidArgumentError(
      absl::StrCat("Mask is ", mask, "; want the place of one of ", count, " tensors"));
}

absl::Status SelectInput(OpRun& op) {
  ASSIGN_OR_RETURN(const int chosen, Chosen(op, op.InputCount("X")));
  const Array* value = op.FindInput("X", chosen);
  const Argument& argument = *op.op().Inputs("X")[chosen];
  if (value == nullptr) return NoValue(argument);
  op.SetCutOutput("Out", *value);
  return absl::OkStatus();
}

absl::Status SelectOutput(OpRun& op) {
  ASSIGN_OR_RETURN(const int chosen, Chosen(op, op.OutputCount("Out")));
  op.SetOutput("Out", chosen, op.Input("X"));
  return absl::OkStatus();
}

}  // namespace

Kernels ControlFlowKernels() {
  return {{"while", While},
          {"conditional_block", ConditionalBlock},
          {"select_input", SelectInput},
          {"select_output", SelectOutput}};
}

}  // namespace fixpoint::reference
