#include "runtime/training/trainer.h"

#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/backend.h"
#include "runtime/backends.h"

namespace fixpoint {
namespace {

// Step 0 is the startup program's.
uint32_t BackendStep(int64_t step) { return static_cast<uint32_t>(step + 1); }

absl::Status InStep(int64_t step, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("step ", step + 1, ": ", status.message()));
}

}  // namespace

absl::Status Initialize(const Program& startup, Scope* scope, const BatchRunOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend,
                   MakeBackend(options.backend, startup, scope, options.backend_options));
  return backend->Run({}, {}, /*step=*/0).status();
}

Trainer::Trainer(const Program& program, Scope* scope, const SampleSet* set,
                 const BatchRunOptions& options, BatchRunner runner)
    : program_(&program), scope_(scope), set_(set), options_(options), runner_(std::move(runner)) {}

absl::StatusOr<Trainer> Trainer::Create(const Program& program, Scope* scope, const SampleSet* set,
                                        const BatchRunOptions& options) {
  if (options.variables.loss.empty()) {
    return absl::InvalidArgumentError(
        "the program has no backward pass that says what the loss is; want a training program");
  }
  ASSIGN_OR_RETURN(BatchRunner runner, BatchRunner::Create(program, scope, set, options));
  return Trainer(program, scope, set, options, std::move(runner));
}

absl::Status Trainer::GoTo(int64_t step) {
  if (step < 0 || step > kMostSteps) {
    return absl::InvalidArgumentError(absl::StrCat("step ", step, "; want 0 to ", kMostSteps));
  }
  step_ = step;
  older_ = Copy();
  younger_ = Copy();
  return absl::OkStatus();
}

absl::StatusOr<BatchResult> Trainer::Step(absl::Span<const std::string> also_fetch) {
  if (younger_.step < 0 || step_ - younger_.step >= kStepsBetweenCopies) {
    RETURN_IF_ERROR(CopyScope());
  }
  RETURN_IF_ERROR(WriteRate(step_));
  absl::StatusOr<BatchResult> result = runner_.Run(step_, BackendStep(step_), also_fetch);
  if (!result.ok()) return InStep(step_, result.status());
  if (!std::isfinite(*result->loss)) return NotFinite(*result->loss);
  ++step_;
  return result;
}

absl::Status Trainer::WriteRate(int64_t step) {
  if (!rate_) return absl::OkStatus();
  if (step >= rate_->steps) {
    return absl::OutOfRangeError(
        absl::StrCat("the learning rate is that of ", rate_->steps, " steps, and all are done"));
  }
  return SetRate(rate_->variable, rate_->schedule.At(step, rate_->steps), scope_);
}

absl::Status Trainer::CopyScope() {
  Copy copy;
  copy.step = step_;
  for (const auto& [name, value] : *scope_) {
    ASSIGN_OR_RETURN(Scope::Value clone, Scope::CloneOf(value));
    copy.scope.Set(name, std::move(clone));
  }
  older_ = std::exchange(younger_, std::move(copy));
  return absl::OkStatus();
}

absl::Status Trainer::NotFinite(double loss) {
  const std::string what =
      absl::StrCat("step ", step_ + 1, ": the loss \"", options_.variables.loss, "\" is ", loss);
  Copy& from = older_.step >= 0 ? older_ : younger_;
  *scope_ = std::move(from.scope);
  BatchRunOptions looking = options_;
  looking.backend_options.check_finite = true;
  ASSIGN_OR_RETURN(BatchRunner runner, BatchRunner::Create(*program_, scope_, set_, looking));
  runner.EndAt(step_ + 1);
  for (int64_t step = from.step; step <= step_; ++step) {
    RETURN_IF_ERROR(WriteRate(step));
    const absl::Status status = runner.Run(step, BackendStep(step)).status();
    if (status.ok()) continue;
    if (!IsNotFinite(status)) return InStep(step, status);
    return absl::FailedPreconditionError(absl::StrCat(
        what, "; the first value that is not finite is in ",
        step == step_ ? "this step" : absl::StrCat("step ", step + 1), ": ", status.message()));
  }
  return absl::FailedPreconditionError(absl::StrCat(what, "; when the steps from ", from.step + 1,
                                                    " on were done again, every value was finite"));
}

}  // namespace fixpoint
