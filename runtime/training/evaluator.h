// How well a program does on a whole data set.

#ifndef FIXPOINT_RUNTIME_TRAINING_EVALUATOR_H_
#define FIXPOINT_RUNTIME_TRAINING_EVALUATOR_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "runtime/data/image_set.h"
#include "runtime/scope.h"
#include "runtime/training/batch_runner.h"

namespace fixpoint {

struct Evaluation {
  int64_t images = 0;
  std::optional<double> loss;      // the mean over all images
  std::optional<double> accuracy;  // the share of right answers
};

// Runs `program`, which is one of inference or of test mode (transpiler/test_program.h), once on
// every image, in the order of the set. Errors: those of BatchRunner.
absl::StatusOr<Evaluation> Evaluate(const Program& program, Scope* scope, const ImageSet& set,
                                    const BatchRunOptions& options);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_EVALUATOR_H_
