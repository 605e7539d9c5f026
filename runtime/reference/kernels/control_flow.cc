// Ops that run blocks, and those that choose by a number. A block finds the outer variables that it
// reads and writes in the frames of the blocks around it, so that the slots of the forward ops
// matter only for their conditions.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/block_gradients.h"
#include "ops/recurrent_block.h"
#include "ops/unset_inputs.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/array_sum.h"

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

// Keeps the runs of a block for the gradient block, if there is one.
class KeptRuns {
 public:
  explicit KeptRuns(OpRun& op) : op_(op), copied_(CopiedForEachRun(op.op())) {
    if (ReaderOfKeptRuns(op.op()) == nullptr) return;
    const Argument* const kept = KeptRunsOf(op.op());
    variable_ = kept->variable();
    op.frame().TakeKept(*variable_);
    // Its value is in the frame; this says that it has one.
    op.SetOutput(kept->slot_name(), Array(VarType::INT64, Dims{0}));
  }

  absl::Status Run(const Block& block) {
    if (variable_ == nullptr) return op_.RunBlock(block);
    return Run(block, op_.NewFrame(block));
  }

  // The same in a frame, which stays valid until the next run.
  absl::Status Run(const Block& block, std::unique_ptr<Frame> frame) {
    if (variable_ == nullptr) {
      last_ = std::move(frame);
      return op_.RunBlock(block, last_.get());
    }
    std::vector<std::pair<const Variable*, Array>> copies;
    for (const Variable* variable : copied_) {
      ASSIGN_OR_RETURN(const Array* value, op_.frame().Find(*variable));
      if (value != nullptr) copies.emplace_back(variable, *value);
    }
    RETURN_IF_ERROR(op_.RunBlock(block, frame.get()));
    for (auto& [variable, value] : copies) {
      frame->Own(*variable);
      frame->Set(*variable, std::move(value));
    }
    op_.frame().Keep(*variable_, std::move(frame));
    return absl::OkStatus();
  }

 private:
  OpRun& op_;
  const std::vector<const Variable*> copied_;
  const Variable* variable_ = nullptr;  // null: nothing reads them
  std::unique_ptr<Frame> last_;
};

absl::Status While(OpRun& op) {
  ASSIGN_OR_RETURN(const Block* block, BlockOf(op));
  KeptRuns runs(op);
  for (;;) {
    ASSIGN_OR_RETURN(const bool goes_on, Holds(op, "Condition"));
    if (!goes_on) return absl::OkStatus();
    RETURN_IF_ERROR(op.BeginIteration("Condition"));
    RETURN_IF_ERROR(runs.Run(*block));
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
  KeptRuns kept(op);
  return runs ? kept.Run(*block) : absl::OkStatus();
}

// A step of a sequence [steps, ...].
Array StepOf(const Array& sequence, int64_t step) {
  Array part(sequence.dtype, Dims(sequence.dims.begin() + 1, sequence.dims.end()));
  for (int64_t i = 0; i < part.size(); ++i) part[i] = sequence[step * part.size() + i];
  return part;
}

// Puts a step into a sequence, which the first one gives its extents. Error: it has others.
absl::Status SetStep(const Array& part, int64_t step, int64_t steps, std::optional<Array>* whole) {
  Dims dims(part.dims.begin(), part.dims.end());
  dims.insert(dims.begin(), steps);
  if (!*whole) whole->emplace(part.dtype, dims);
  if ((*whole)->dims != dims || part.elements) {
    dims = (*whole)->dims;
    return absl::InvalidArgumentError(absl::StrCat("step ", step, " is ", DimsText(part.dims),
                                                   "; want ", DimsText(DimsView(dims).subspan(1)),
                                                   ", as the steps before"));
  }
  for (int64_t i = 0; i < part.size(); ++i) (**whole)[step * part.size() + i] = part[i];
  return absl::OkStatus();
}

// Error: it has no value.
absl::StatusOr<const Array*> ValueOf(const OpRun& op, const Argument& argument) {
  const Array* const value = op.FindInput(argument.slot_name(), argument.index());
  if (value == nullptr) return NoValue(argument);
  return value;
}

// How many steps the inputs have. Error: not all the same, or none.
absl::StatusOr<int64_t> StepCount(const OpRun& op, const RecurrentBlock& recurrent) {
  int64_t steps = 0;
  for (const RecurrentBlock::Sequence& input : recurrent.inputs) {
    ASSIGN_OR_RETURN(const Array* found, ValueOf(op, *input.outer));
    const Array& sequence = *found;
    const int64_t count = sequence.dims.empty() ? 0 : sequence.dims[0];
    if (steps == 0) steps = count;
    if (count == steps && count > 0 && !sequence.elements) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "inputs[", input.outer->index(), "] is ", DimsText(sequence.dims),
        "; want one or more steps along the first axis, as many as the first input has"));
  }
  return steps;
}

absl::Status Recurrent(OpRun& op) {
  ASSIGN_OR_RETURN(const Block* block, BlockOf(op));
  ASSIGN_OR_RETURN(const RecurrentBlock recurrent, RecurrentBlockOf(op.op()));
  ASSIGN_OR_RETURN(const int64_t steps, StepCount(op, recurrent));
  KeptRuns runs(op);
  std::vector<Array> states;
  for (const RecurrentBlock::State& state : recurrent.states) {
    ASSIGN_OR_RETURN(const Array* initial, ValueOf(op, *state.initial));
    states.push_back(*initial);
  }
  std::vector<std::optional<Array>> outputs(recurrent.outputs.size());
  for (int64_t turn = 0; turn < steps; ++turn) {
    const int64_t step = recurrent.is_reversed ? steps - 1 - turn : turn;
    std::unique_ptr<Frame> made = op.NewFrame(*block);
    Frame& frame = *made;
    for (const RecurrentBlock::Sequence& input : recurrent.inputs) {
      frame.Set(*input.step, StepOf(*op.FindInput("inputs", input.outer->index()), step));
    }
    for (size_t i = 0; i < states.size(); ++i) {
      frame.Set(*recurrent.states[i].before, std::move(states[i]));
    }
    RETURN_IF_ERROR(runs.Run(*block, std::move(made)));
    const auto left = [&frame](const Variable& variable) -> absl::StatusOr<const Array*> {
      ASSIGN_OR_RETURN(const Array* value, frame.Find(variable));
      if (value != nullptr) return value;
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", variable.name(), "\" has no value after a step; want its block to write it"));
    };
    for (size_t i = 0; i < states.size(); ++i) {
      ASSIGN_OR_RETURN(const Array* state, left(*recurrent.states[i].after));
      states[i] = *state;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      ASSIGN_OR_RETURN(const Array* output, left(*recurrent.outputs[i].step));
      RETURN_IF_ERROR(SetStep(*output, step, steps, &outputs[i]));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    op.SetOutput("outputs", static_cast<int>(i), *std::move(outputs[i]));
  }
  return absl::OkStatus();
}

Array ZerosLike(const Array& array) {
  Array zeros(array.dtype, array.dims);
  if (array.elements) zeros.elements.emplace(array.elements->size());
  return zeros;
}

// One run of a gradient block for each run of the forward block that was kept, the last one first.
class BlockGradientRun {
 public:
  BlockGradientRun(OpRun& op, const Block& block, BlockGradients gradients)
      : op_(op), block_(block), gradients_(std::move(gradients)) {
    for (const BlockGradients::Given& given : gradients_.given) {
      const Array* const outer = given.outer != nullptr
                                     ? op_.FindInput(given.outer->slot_name(), given.outer->index())
                                     : nullptr;
      const Array* const of = outer == nullptr && given.of != nullptr
                                  ? op.FindInput(given.of->slot_name(), given.of->index())
                                  : nullptr;
      given_.emplace_back();
      if (outer != nullptr) given_.back() = *outer;
      if (of != nullptr) given_.back() = ZerosLike(*of);
    }
    made_.resize(gradients_.made.size());
  }

  absl::Status RunAll() {
    const Frame::Runs runs = op_.frame().TakeKept(*gradients_.kept_runs->variable());
    const auto count = static_cast<int64_t>(runs.size());
    for (int64_t turn = count - 1; turn >= 0; --turn) {
      const int64_t step = gradients_.is_reversed ? count - 1 - turn : turn;
      RETURN_IF_ERROR(Run(runs[turn].get(), step, count));
    }
    for (size_t i = 0; i < made_.size(); ++i) SetOutput(gradients_.made[i], made_[i]);
    return absl::OkStatus();
  }

 private:
  absl::Status Run(Frame* forward, int64_t step, int64_t steps) {
    const std::unique_ptr<Frame> frame = op_.NewFrame(block_, forward);
    for (const BlockGradients::Made& made : gradients_.made) {
      if (made.inner != nullptr) frame->Own(*made.inner);
    }
    for (size_t i = 0; i < given_.size(); ++i) {
      const BlockGradients::Given& given = gradients_.given[i];
      if (given.inner == nullptr) continue;
      frame->Own(*given.inner);
      if (!given_[i]) continue;
      if (given.is_by_step) RETURN_IF_ERROR(CheckSteps(*given_[i], *given.inner, steps));
      Array value = given.is_by_step ? StepOf(*given_[i], step) : *given_[i];
      const bool is_there = std::any_of(
          gradients_.given.begin(), gradients_.given.begin() + i,
          [&given](const BlockGradients::Given& before) { return before.inner == given.inner; });
      if (is_there) {
        ASSIGN_OR_RETURN(const Array* part, frame->Find(*given.inner));
        if (part != nullptr) RETURN_IF_ERROR(AddTo(*part, &value));
      }
      frame->Set(*given.inner, std::move(value));
    }
    RETURN_IF_ERROR(op_.RunBlock(block_, frame.get()));
    for (size_t i = 0; i < made_.size(); ++i) {
      const BlockGradients::Made& made = gradients_.made[i];
      const Array* value = nullptr;
      if (made.inner != nullptr) {
        ASSIGN_OR_RETURN(value, frame->Find(*made.inner));
      }
      if (value == nullptr) continue;
      if (made.carried >= 0) {
        given_[made.carried] = *value;
      } else if (made.is_by_step) {
        RETURN_IF_ERROR(SetStep(*value, step, steps, &made_[i]));
      } else if (made_[i]) {
        RETURN_IF_ERROR(AddTo(*value, &*made_[i]));
      } else {
        made_[i] = *value;
      }
    }
    return absl::OkStatus();
  }

  static absl::Status CheckSteps(const Array& gradient, const Variable& inner, int64_t steps) {
    if (!gradient.dims.empty() && gradient.dims[0] == steps) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("\"", inner.name(), "\" is ",
                                                   DimsText(gradient.dims), "; want ", steps,
                                                   " steps along the first axis"));
  }

  void SetOutput(const BlockGradients::Made& made, const std::optional<Array>& summed) {
    if (made.outer == nullptr) return;
    const Array* const of = op_.FindInput(made.of->slot_name(), made.of->index());
    std::optional<Array> value = made.carried >= 0 ? given_[made.carried] : summed;
    if (!value && of != nullptr) value = ZerosLike(*of);
    if (!value) return;
    const bool has_rows = of != nullptr && of->dims == value->dims;
    if (has_rows) value->lod = of->lod;
    op_.SetCutOutput(made.outer->slot_name(), made.outer->index(), *std::move(value));
  }

  OpRun& op_;
  const Block& block_;
  const BlockGradients gradients_;
  std::vector<std::optional<Array>> given_;  // like gradients_.given
  std::vector<std::optional<Array>> made_;   // like gradients_.made
};

absl::Status BlockGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Block* block, BlockOf(op));
  ASSIGN_OR_RETURN(BlockGradients gradients, BlockGradientsOf(op.op()));
  return BlockGradientRun(op, *block, std::move(gradients)).RunAll();
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
          {"while_grad", BlockGradient},
          {"conditional_block", ConditionalBlock},
          {"conditional_block_grad", BlockGradient},
          {"recurrent", Recurrent},
          {"recurrent_grad", BlockGradient},
          {"select_input", SelectInput},
          {"select_output", SelectOutput}};
}

}  // namespace fixpoint::reference
