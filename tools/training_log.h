// What `train` tells on its way: a progress line, a line for each evaluation, and the file of
// measurements.

#ifndef FIXPOINT_TOOLS_TRAINING_LOG_H_
#define FIXPOINT_TOOLS_TRAINING_LOG_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/training/batch_runner.h"
#include "runtime/training/evaluator.h"
#include "tools/metrics_log.h"
#include "tools/progress_line.h"

namespace fixpoint {

class TrainingLog {
 public:
  TrainingLog() : progress_(ProgressLine::OnStandardError()) {}

  // The run goes from step `begin` to `steps`. The measurements are those of `options`, and go to
  // the file `path` after its first `length` bytes, as MetricsLog::Open has it.
  absl::Status Begin(const BatchRunOptions& options, int64_t begin, int64_t steps,
                     const std::string& path, int64_t length);

  // Prints a text in place of the progress line: to standard error if output is taken.
  absl::Status Tell(const std::string& text, bool output_is_taken);
  // After step `step`, counted from 1. `rate`: the learning rate, if it is fed.
  absl::Status TellOfStep(int64_t step, const BatchResult& result, std::optional<double> rate);
  absl::Status TellOfEvaluation(int64_t step, int64_t epoch, const Evaluation& evaluation,
                                bool output_is_taken);

  // Syncs the file of measurements and returns its length. Errors: those of MetricsLog::Sync.
  absl::StatusOr<int64_t> Sync() { return metrics_->Sync(); }

 private:
  using Clock = std::chrono::steady_clock;

  ProgressLine progress_;
  std::optional<MetricsLog> metrics_;
  std::vector<std::string> measured_;  // NetworkVariables::metrics
  Clock::time_point begun_at_;
  int64_t begun_with_ = 0;  // steps done before this run
  int64_t steps_ = 0;
  int64_t samples_ = 0;  // trained on in this run
};

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_TRAINING_LOG_H_
