// How well a program does on a whole set of samples.

#ifndef FIXPOINT_RUNTIME_TRAINING_EVALUATOR_H_
#define FIXPOINT_RUNTIME_TRAINING_EVALUATOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "runtime/data/sample_set.h"
#include "runtime/scope.h"
#include "runtime/training/batch_runner.h"

namespace fixpoint {

struct Evaluation {
  int64_t samples = 0;
  std::optional<double> loss;      // the mean over all samples
  std::optional<double> accuracy;  // the share of right answers
  // The mean over all samples of what a batch gives, by the name of its variable.
  std::vector<std::pair<std::string, double>> metrics;
  // The standard errors of these: of the accuracy, that of a share; of means, by how much batches
  // differ. None where there are fewer than two batches, or they are not finite.
  std::optional<double> loss_error;
  std::optional<double> accuracy_error;
  std::vector<std::optional<double>> metric_errors;
};

// Error (kFailedPrecondition): the program has an op of the backward pass or of an optimizer, which
// would change what is measured.
absl::Status CheckDoesNotTrain(const Program& program);

class Evaluator {
 public:
  // `program` is for inference or in test mode (transpiler/freeze/test_program.h). All that is
  // pointed to outlives the evaluator. Errors: those of CheckDoesNotTrain and BatchRunner::Create.
  static absl::StatusOr<Evaluator> Create(const Program& program, Scope* scope,
                                          const SampleSet* set, const BatchRunOptions& options);

  // Runs the program once on every sample, in the order of the set and as they are, with what the
  // scope holds now. The scope is then as it was: what the program's ops write there, such as
  // ranges that a quantizer finds anew in each run, is restored. Errors: those of BatchRunner::Run
  // and KeptState.
  absl::StatusOr<Evaluation> Run();
  const Backend& backend() const { return runner_.backend(); }

 private:
  Evaluator(const Program& program, Scope* scope, std::vector<std::string> metrics,
            BatchRunner runner)
      : program_(&program),
        scope_(scope),
        metrics_(std::move(metrics)),
        runner_(std::move(runner)) {}

  absl::StatusOr<Evaluation> RunOnAll();

  const Program* program_;
  Scope* scope_;
  std::vector<std::string> metrics_;
  BatchRunner runner_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_EVALUATOR_H_
