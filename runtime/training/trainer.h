// Trains a program on a set of samples, step by step.
//
//   Scope scope;
//   RETURN_IF_ERROR(Initialize(startup, &scope, options));
//   ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(main, &scope, &samples, options));
//   while (trainer.epoch() < 10) RETURN_IF_ERROR(trainer.Step().status());
//
// An Evaluator (runtime/training/evaluator.h) then measures how well it does.

#ifndef FIXPOINT_RUNTIME_TRAINING_TRAINER_H_
#define FIXPOINT_RUNTIME_TRAINING_TRAINER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "runtime/data/sample_set.h"
#include "runtime/scope.h"
#include "runtime/training/batch_runner.h"
#include "runtime/training/rate_schedule.h"

namespace fixpoint {

// Runs a startup program. Its random numbers are those of step 0, training's of step 1 and on.
// Errors: those of MakeBackend and Backend::Run.
absl::Status Initialize(const Program& startup, Scope* scope, const BatchRunOptions& options);

// A learning rate that the host feeds to the program: which variable holds it (FindFedRate), and
// what it is in each of `steps` steps.
struct FedRate {
  std::string variable;
  RateSchedule schedule;
  int64_t steps = 1;
};

class Trainer {
 public:
  // All that is pointed to outlives the trainer; `scope` has been initialised. The seed of the
  // batches is that of their order. Errors: those of BatchRunner::Create; kInvalidArgument: the
  // options name no loss.
  static absl::StatusOr<Trainer> Create(const Program& program, Scope* scope, const SampleSet* set,
                                        const BatchRunOptions& options);

  // How many steps were done. A step depends only on the scope, the options and this number.
  int64_t step() const { return step_; }
  int64_t epoch() const { return step_ / StepsPerEpoch(); }
  int64_t StepsPerEpoch() const { return runner_.BatchesPerEpoch(); }
  const Backend& backend() const { return runner_.backend(); }

  // Does one step. Errors: those of BatchRunner::Run, with the step's number from 1 on. After one
  // the trainer and the scope can no longer be used.
  //
  // A loss that is not finite is an error too (kFailedPrecondition). It names the first op that
  // wrote such a value, even in an earlier step: the steps since a copy of the scope are repeated,
  // checking every value; another error then is returned as it is. A copy is made every
  // kStepsBetweenCopies steps, and the last two are kept: all losses between the older and the
  // younger one were finite, so that the value is younger than the older copy.
  //
  // With a fed rate also: those of SetRate; kOutOfRange: all of its steps are done.
  absl::StatusOr<BatchResult> Step(absl::Span<const std::string> also_fetch = {});

  // From now on the rate is written into its variable before each step.
  void FeedRate(FedRate rate) { rate_ = std::move(rate); }

  // Says that no more than `steps` steps will be done, so that no batch is made for another one.
  void EndAt(int64_t steps) { runner_.EndAt(steps); }

  // Continues after `step` steps, with the scope holding what it held then.
  absl::Status GoTo(int64_t step);

  static constexpr int64_t kStepsBetweenCopies = 32;
  // Backends count them in 32 bits, from 1 on.
  static constexpr int64_t kMostSteps = std::numeric_limits<uint32_t>::max() - 1;

 private:
  struct Copy {
    int64_t step = -1;  // none
    Scope scope;
  };

  Trainer(const Program& program, Scope* scope, const SampleSet* set,
          const BatchRunOptions& options, BatchRunner runner);

  absl::Status CopyScope();
  absl::Status WriteRate(int64_t step);
  // The error for a loss that is not finite in the step that was just done.
  absl::Status NotFinite(double loss);

  const Program* program_;
  Scope* scope_;
  const SampleSet* set_;
  BatchRunOptions options_;
  BatchRunner runner_;
  std::optional<FedRate> rate_;
  int64_t step_ = 0;
  Copy older_;
  Copy younger_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_TRAINER_H_
