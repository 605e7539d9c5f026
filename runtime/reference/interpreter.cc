#include "runtime/reference/interpreter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/guarded_call.h"

namespace fixpoint::reference {
namespace {

absl::Status AtOp(const Op& op, const absl::Status& status) {
  return AtPlace(Describe(op), status);
}

// All op types of the program without a kernel, each at its first op.
absl::Status CheckKernels(const Program& program) {
  std::vector<std::string> missing;
  absl::flat_hash_set<std::string> seen;
  for (int b = 0; b < program.block_count(); ++b) {
    for (const Op& op : program.block(b).ops()) {
      if (IsFeedOrFetch(op) || FindKernel(op.type()) != nullptr) continue;
      if (!seen.insert(op.type()).second) continue;
      missing.push_back(absl::StrCat(op.type(), " (block ", b, ", op ", op.Index(), ")"));
    }
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("no reference kernel for op types ", absl::StrJoin(missing, ", ")));
}

// Whether what the op has written is finite.
absl::Status CheckFinite(const Op& op, Frame* frame) {
  for (const Argument* output : op.outputs()) {
    if (output->variable() == nullptr) continue;
    ASSIGN_OR_RETURN(const Array* value, frame->Find(*output->variable()));
    if (value == nullptr || !IsFloatingPoint(value->dtype)) continue;
    const auto found = std::find_if(value->values.begin(), value->values.end(),
                                    [](double element) { return !std::isfinite(element); });
    if (found == value->values.end()) continue;
    return NotFiniteError(absl::StrCat("element ", found - value->values.begin(), " of output ",
                                       output->slot_name(), ", variable \"", output->name(),
                                       "\", is ", *found, "; want finite numbers"));
  }
  return absl::OkStatus();
}

}  // namespace

Interpreter::Interpreter(const Program& program, Scope* scope, const InterpreterOptions& options)
    : program_(&program), scope_(scope), options_(options), era_(EraOf(program)) {}

absl::StatusOr<Interpreter> Interpreter::Create(const Program& program, Scope* scope,
                                                const InterpreterOptions& options) {
  RETURN_IF_ERROR(CheckKernels(program));
  Interpreter interpreter(program, scope, options);
  uint32_t number = 0;
  for (int b = 0; b < program.block_count(); ++b) {
    std::vector<Step>& steps = interpreter.steps_.emplace_back();
    interpreter.op_count_ += static_cast<uint32_t>(program.block(b).op_count());
    for (const Op& op : program.block(b).ops()) {
      if (IsFeedOrFetch(op)) continue;
      const OpSchema* schema = FindOpSchema(op.type());
      if (absl::Status status = CheckForm(op, *schema, interpreter.era_); !status.ok()) {
        return AtOp(op, status);
      }
      steps.push_back({&op, schema, FindKernel(op.type()), number++});
    }
  }
  return interpreter;
}

// One run of the program.
class Interpreter::Execution final : public BlockRunner {
 public:
  Execution(const Interpreter& interpreter, uint32_t step)
      : interpreter_(interpreter),
        frame_(interpreter.scope_, interpreter.options_.precision,
               interpreter.options_.check_finite),
        state_{interpreter.options_.seed, step, 0},
        block_runs_(interpreter.steps_.size(), 0),
        loops_(interpreter.options_.max_iterations) {}

  Frame& frame() { return frame_; }

  absl::Status Run(absl::Span<const Feed> feeds) {
    for (const Feed& feed : feeds) RETURN_IF_ERROR(frame_.Feed(feed.name, *feed.value));
    return RunBlock(interpreter_.program_->block(0), &frame_);
  }

  LoopBound& loops() override { return loops_; }

  absl::Status RunBlock(const Block& block, Frame* frame) override {
    const uint32_t first = block_runs_[block.index()]++ * interpreter_.op_count_;
    for (const Step& step : interpreter_.steps_[block.index()]) {
      state_.op = first + step.number;
      OpRun op(*step.op, *step.schema, interpreter_.program_->version(), interpreter_.era_, state_,
               frame, this);
      // A kernel creates its arrays without checking whether there is memory for them.
      absl::Status status = GuardedCall("its outputs", [&]() -> absl::Status {
        RETURN_IF_ERROR(op.ReadInputs());
        RETURN_IF_ERROR((*step.kernel)(op));
        op.WriteOutputs();
        return absl::OkStatus();
      });
      if (!status.ok()) return AtOp(*step.op, status);
      if (!interpreter_.options_.check_finite) continue;
      if (status = CheckFinite(*step.op, frame); !status.ok()) return AtOp(*step.op, status);
    }
    return absl::OkStatus();
  }

 private:
  const Interpreter& interpreter_;
  Frame frame_;
  RunState state_;
  std::vector<uint32_t> block_runs_;  // how often each block has run
  LoopBound loops_;
};

absl::StatusOr<std::vector<Tensor>> Interpreter::Run(absl::Span<const Feed> feeds,
                                                     absl::Span<const std::string> fetches,
                                                     uint32_t step) {
  return GuardedCall("a run", [&] { return RunUnguarded(feeds, fetches, step); });
}

absl::StatusOr<std::vector<Tensor>> Interpreter::RunUnguarded(absl::Span<const Feed> feeds,
                                                              absl::Span<const std::string> fetches,
                                                              uint32_t step) {
  Execution execution(*this, step);
  RETURN_IF_ERROR(execution.Run(feeds));
  Frame& frame = execution.frame();
  std::vector<Tensor> fetched;
  for (const std::string& name : fetches) {
    ASSIGN_OR_RETURN(const Array* value, frame.FindGlobal(name));
    if (value == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("fetch \"", name,
                       "\" has no value; want a variable of block 0 that is fed, "
                       "initialised or written"));
    }
    if (value->elements) {
      return absl::UnimplementedError(
          absl::StrCat("fetch \"", name, "\" is an array of tensors; want a tensor"));
    }
    ASSIGN_OR_RETURN(Tensor tensor, TensorOf(*value));
    fetched.push_back(std::move(tensor));
  }
  RETURN_IF_ERROR(frame.Store());
  return fetched;
}

}  // namespace fixpoint::reference
