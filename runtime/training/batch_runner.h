// Runs a program on the batches of a set of samples, and reports how well it did on each.

#ifndef FIXPOINT_RUNTIME_TRAINING_BATCH_RUNNER_H_
#define FIXPOINT_RUNTIME_TRAINING_BATCH_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/backends.h"
#include "runtime/data/batcher.h"
#include "runtime/data/batches_ahead.h"
#include "runtime/data/sample_set.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "runtime/training/fed_batches.h"
#include "runtime/training/network_variables.h"

namespace fixpoint {

// How the program runs, and in which batches.
struct BatchRunOptions {
  NetworkVariables variables;
  BackendKind backend = kDefaultBackend;
  BackendOptions backend_options;
  BatchOptions batches;
};

struct BatchResult {
  int64_t samples = 0;
  std::optional<double> loss;  // none if the program has none
  int64_t answers = 0;         // number of labels: one for each sample, or each row of its sequence
  std::optional<int64_t> correct;  // how many are right; none if scores or labels are not known
  std::vector<double> metrics;     // in the order of NetworkVariables::metrics
  std::vector<Tensor> fetched;     // other fetches
};

class BatchRunner {
 public:
  // All that is pointed to outlives the runner. Samples are checked if the backend checks every
  // value. Errors: those of FedBatches::Create and MakeBackend.
  static absl::StatusOr<BatchRunner> Create(const Program& program, Scope* scope,
                                            const SampleSet* set, const BatchRunOptions& options);

  int64_t BatchesPerEpoch() const { return source_->fed.batcher().BatchesPerEpoch(); }
  const Backend& backend() const { return *backend_; }

  // Says that no batch from `number` on will be run, so that none of them is made.
  void EndAt(int64_t number) { source_->ahead.EndAt(PositionOf(number)); }

  // Runs the program on batch `number`, counted from 0 through all epochs; `step` is the backend's.
  // Meanwhile the next batch is made. Errors: those of Backend::Run; kInvalidArgument: the loss or
  // a metric is not one number, or the scores are not a row for each label.
  absl::StatusOr<BatchResult> Run(int64_t number, uint32_t step,
                                  absl::Span<const std::string> also_fetch = {});

 private:
  // Batches, of which those of the batcher are made ahead.
  struct Source {
    explicit Source(FedBatches batches) : fed(std::move(batches)), ahead(&fed.batcher()) {}
    FedBatches fed;
    BatchesAhead ahead;
  };

  BatchRunner(NetworkVariables variables, std::unique_ptr<Backend> backend, FedBatches batches);

  BatchPosition PositionOf(int64_t number) const {
    return {number / BatchesPerEpoch(), number % BatchesPerEpoch()};
  }

  NetworkVariables variables_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Source> source_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_BATCH_RUNNER_H_
