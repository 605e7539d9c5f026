// A block that runs once for each step of sequences (ops/recurrent_block.h). What a step reads of
// them lies where they lie.

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/recurrent_block.h"
#include "ops/unset_inputs.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/executor/kept_runs.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/planned_block.h"
#include "runtime/executor/ops/run_keeping.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

// A sequence, and the variable of the block that holds a step of it.
struct PlannedSteps {
  Buffer outer;  // [steps, ...]
  Buffer inner;  // in the block's plan
  int64_t bytes = 0;
};

struct PlannedState {
  Buffer initial;
  Buffer before;  // a copy of what the step before left
  Buffer next;    // of what this one leaves, which may lie where another state is
  Buffer found;   // in the block's plan, where that is put
  Buffer left;    // likewise, what a step leaves
  int64_t bytes = 0;
};

Dims StepDims(const Dims& dims) { return Dims(dims.begin() + 1, dims.end()); }

int64_t BytesOf(const TensorType& type) {
  return type.size() * static_cast<int64_t>(ElementSize(type.dtype));
}

// What the block's own variable holds when a step begins; null: the block does not read it.
const Value* BeginOf(const Variable& variable) {
  const auto values = variable.values();
  const bool is_read = !values.empty() && values[0]->origin() == Value::Origin::kEntry;
  return is_read ? values[0] : nullptr;
}

absl::StatusOr<const Value*> EndOf(const OpPlanner& op, const Variable& variable) {
  if (const Value* end = ValueAtEnd(op.op(), variable); end != nullptr) return end;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", variable.name(), "\" has no value after a step; want its block to write it"));
}

class RecurrentPlan {
 public:
  RecurrentPlan(OpPlanner& op, const Block& block, RecurrentBlock recurrent)
      : op_(op), block_(block), recurrent_(std::move(recurrent)) {}

  absl::Status Plan() {
    RunKeeping keeping(op_);
    keeping.Want(&in_planning_);
    RETURN_IF_ERROR(GiveOuterValues(op_, block_, {}, &in_planning_));
    RETURN_IF_ERROR(GiveSteps());
    RETURN_IF_ERROR(GiveStates());
    for (const RecurrentBlock::Sequence& output : recurrent_.outputs) {
      RETURN_IF_ERROR(Want(*output.step));
    }
    NoteWhatVaries();
    RETURN_IF_ERROR(PlanBlock(op_, block_, &in_planning_));
    RETURN_IF_ERROR(TakeStates());
    RETURN_IF_ERROR(WriteOutputs());
    StepKernel step = BlockStep(in_planning_.planned, nullptr);
    RETURN_IF_ERROR(keeping.Finish(&in_planning_, &step));
    for (const PlannedSteps& input : inputs_) step.reads.push_back(input.outer);
    for (const PlannedState& state : states_) {
      step.reads.push_back(state.initial);
      step.writes.insert(step.writes.end(), {state.before, state.next});
    }
    for (const PlannedSteps& output : outputs_) step.writes.push_back(output.outer);
    step.run = [runner = keeping.runner(in_planning_.planned), inputs = inputs_, outputs = outputs_,
                states = states_, steps = steps_,
                is_reversed = recurrent_.is_reversed](const StepContext& run) {
      return Run(run, runner, inputs, outputs, states, steps, is_reversed);
    };
    op_.AddStep(std::move(step));
    return absl::OkStatus();
  }

 private:
  absl::Status Want(const Variable& variable) {
    ASSIGN_OR_RETURN(const Value* end, EndOf(op_, variable));
    in_planning_.builder.Attach(*end, ReadAtEnd{});
    in_planning_.wanted.push_back(end);
    return absl::OkStatus();
  }

  absl::Status GiveSteps() {
    for (const RecurrentBlock::Sequence& input : recurrent_.inputs) {
      const int index = input.outer->index();
      if (!op_.builder().IsPlanned(*input.outer->value())) return NoValue(*input.outer);
      const TensorType type = op_.InputType("inputs", index);
      const int64_t count = type.dims.empty() ? 0 : type.dims[0];
      if (steps_ == 0) steps_ = count;
      if (count < 1 || count != steps_) {
        return absl::InvalidArgumentError(absl::StrCat(
            "inputs[", index, "] is ", DimsText(type.dims),
            "; want one or more steps along the first axis, as many as the first input has"));
      }
      const TensorType of_step{type.dtype, StepDims(type.dims)};
      ASSIGN_OR_RETURN(const Buffer outer,
                       op_.Read("inputs", type.dtype, Layout::kRowMajor, index));
      const Value* const begin = BeginOf(*input.step);
      if (begin == nullptr) continue;
      ASSIGN_OR_RETURN(const Buffer inner, Feed(*begin, {of_step, {}}));
      inputs_.push_back({outer, inner, BytesOf(of_step)});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Buffer> Feed(const Value& value, const GivenType& type) {
    PlanBuilder& inner = in_planning_.builder;
    inner.AddFeed(value, value.variable().name(), type);
    return inner.Read(value, Layout::kRowMajor);
  }

  absl::Status GiveStates() {
    for (const RecurrentBlock::State& state : recurrent_.states) {
      const int index = state.initial->index();
      if (!op_.builder().IsPlanned(*state.initial->value())) return NoValue(*state.initial);
      const TensorType type = op_.InputType("initial_states", index);
      PlannedState planned;
      ASSIGN_OR_RETURN(planned.initial,
                       op_.Read("initial_states", type.dtype, Layout::kRowMajor, index));
      planned.before = op_.Scratch("state", type.dtype, type.size());
      planned.next = op_.Scratch("next state", type.dtype, type.size());
      planned.bytes = BytesOf(type);
      planned.found.index = -1;
      if (const Value* begin = BeginOf(*state.before); begin != nullptr) {
        ASSIGN_OR_RETURN(planned.found, Feed(*begin, {type, {}}));
      }
      states_.push_back(planned);
      RETURN_IF_ERROR(Want(*state.after));
    }
    return absl::OkStatus();
  }

  void NoteWhatVaries() {
    std::vector<Buffer>& varying = in_planning_.varying.emplace();
    for (const PlannedSteps& input : inputs_) varying.push_back(input.inner);
    for (const PlannedState& state : states_) {
      if (state.found.index >= 0) varying.push_back(state.found);
    }
  }

  absl::Status CheckIsKnown(const Value& value, const TensorType& type) {
    PlanBuilder& inner = in_planning_.builder;
    if (inner.RunShapeOf(value) == nullptr && inner.TypeOf(value) == type) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat(
        "a step leaves \"", value.variable().name(), "\" ", DimsText(inner.TypeOf(value).dims),
        "; want ", DimsText(type.dims), ", known before the run, as the initial state"));
  }

  absl::Status TakeStates() {
    for (size_t i = 0; i < states_.size(); ++i) {
      ASSIGN_OR_RETURN(const Value* end, EndOf(op_, *recurrent_.states[i].after));
      RETURN_IF_ERROR(CheckIsKnown(*end, op_.InputType("initial_states", static_cast<int>(i))));
      ASSIGN_OR_RETURN(states_[i].left, in_planning_.builder.Read(*end, Layout::kRowMajor));
    }
    return absl::OkStatus();
  }

  absl::Status WriteOutputs() {
    PlanBuilder& inner = in_planning_.builder;
    for (size_t i = 0; i < recurrent_.outputs.size(); ++i) {
      ASSIGN_OR_RETURN(const Value* end, EndOf(op_, *recurrent_.outputs[i].step));
      TensorType type = inner.TypeOf(*end);
      RETURN_IF_ERROR(CheckIsKnown(*end, type));
      const int64_t bytes = BytesOf(type);
      type.dims.insert(type.dims.begin(), steps_);
      RETURN_IF_ERROR(ElementCount(type.dims).status());
      ASSIGN_OR_RETURN(const Buffer left, inner.Read(*end, Layout::kRowMajor));
      const Buffer outer = op_.WriteAs("outputs", type, Layout::kRowMajor, static_cast<int>(i));
      outputs_.push_back({outer, left, bytes});
    }
    return absl::OkStatus();
  }

  static absl::Status Run(const StepContext& run, const RunKeeping::Runner& runner,
                          const std::vector<PlannedSteps>& inputs,
                          const std::vector<PlannedSteps>& outputs,
                          const std::vector<PlannedState>& states, int64_t steps,
                          bool is_reversed) {
    const auto bytes = [&run](Buffer buffer) { return run.Of<uint8_t>(buffer).data(); };
    runner.Begin();
    PlannedBlock& planned = *runner.planned;
    planned.Begin(run);
    for (const PlannedState& state : states) {
      std::memcpy(bytes(state.before), bytes(state.initial), state.bytes);
      if (state.found.index >= 0) planned.addresses[state.found.index] = bytes(state.before);
    }
    for (int64_t turn = 0; turn < steps; ++turn) {
      const int64_t step = is_reversed ? steps - 1 - turn : turn;
      for (const PlannedSteps& input : inputs) {
        planned.addresses[input.inner.index] = bytes(input.outer) + step * input.bytes;
      }
      RETURN_IF_ERROR(runner.Run(run));
      for (const PlannedSteps& output : outputs) {
        std::memcpy(bytes(output.outer) + step * output.bytes,
                    planned.addresses[output.inner.index], output.bytes);
      }
      for (const PlannedState& state : states) {
        std::memcpy(bytes(state.next), planned.addresses[state.left.index], state.bytes);
      }
      for (const PlannedState& state : states) {
        std::memcpy(bytes(state.before), bytes(state.next), state.bytes);
      }
    }
    return absl::OkStatus();
  }

  OpPlanner& op_;
  const Block& block_;
  const RecurrentBlock recurrent_;
  BlockInPlanning in_planning_;
  std::vector<PlannedSteps> inputs_;
  std::vector<PlannedSteps> outputs_;
  std::vector<PlannedState> states_;
  int64_t steps_ = 0;
};

absl::Status PlanRecurrent(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Block* block, BlockOf(op));
  ASSIGN_OR_RETURN(RecurrentBlock recurrent, RecurrentBlockOf(op.op()));
  return RecurrentPlan(op, *block, std::move(recurrent)).Plan();
}

}  // namespace

OpPlans RecurrentPlans() { return {{"recurrent", PlanRecurrent}}; }

}  // namespace fixpoint::executor
