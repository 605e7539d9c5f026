#include "runtime/training/evaluator.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/data/augmentation.h"
#include "runtime/kept_state.h"

namespace fixpoint {
namespace {

// How far the mean over samples may be off, as far as the means of batches tell. The square of what
// the mean of n samples is off by, times n, is on average the variance of a sample. By Welford's
// method, which keeps the squares small.
class BatchSpread {
 public:
  void Add(double mean, double samples) {
    ++batches_;
    samples_ += samples;
    const double change = mean - mean_;
    mean_ += change * samples / samples_;
    squares_ += samples * change * (mean - mean_);
  }

  std::optional<double> StandardError() const {
    const double error = std::sqrt(squares_ / (batches_ - 1) / samples_);
    return batches_ > 1 && std::isfinite(error) ? std::optional<double>(error) : std::nullopt;
  }

 private:
  int batches_ = 0;
  double samples_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

}  // namespace

absl::Status CheckDoesNotTrain(const Program& program) {
  for (const Op& op : program.ops()) {
    if ((op.role() & (kBackward | kOptimize)) == 0) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        Describe(op),
        " is an op of training; want a test program (transpile --mode=test makes one)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Evaluator> Evaluator::Create(const Program& program, Scope* scope,
                                            const SampleSet* set, const BatchRunOptions& options) {
  RETURN_IF_ERROR(CheckDoesNotTrain(program));
  BatchRunOptions in_order = options;
  in_order.batches.shuffle = false;
  in_order.batches.drop_last = false;
  in_order.batches.augmentation = Augmentation();
  ASSIGN_OR_RETURN(BatchRunner runner, BatchRunner::Create(program, scope, set, in_order));
  runner.EndAt(runner.BatchesPerEpoch());
  return Evaluator(program, scope, options.variables.metrics, std::move(runner));
}

absl::StatusOr<Evaluation> Evaluator::Run() {
  ASSIGN_OR_RETURN(const KeptState state, KeptState::Of(*program_, *scope_));
  absl::StatusOr<Evaluation> evaluation = RunOnAll();
  RETURN_IF_ERROR(state.Restore(scope_));
  return evaluation;
}

absl::StatusOr<Evaluation> Evaluator::RunOnAll() {
  Evaluation evaluation;
  for (const std::string& name : metrics_) evaluation.metrics.emplace_back(name, 0);
  double loss = 0;
  BatchSpread loss_spread;
  std::vector<BatchSpread> spreads(metrics_.size());
  int64_t correct = 0;
  int64_t answers = 0;
  bool has_loss = true;
  bool has_answers = true;
  for (int64_t batch = 0; batch < runner_.BatchesPerEpoch(); ++batch) {
    ASSIGN_OR_RETURN(const BatchResult result, runner_.Run(batch, /*step=*/0));
    evaluation.samples += result.samples;
    has_loss = result.loss.has_value();
    has_answers = result.correct.has_value();
    const auto samples = static_cast<double>(result.samples);
    loss += result.loss.value_or(0) * samples;
    loss_spread.Add(result.loss.value_or(0), samples);
    for (size_t i = 0; i < result.metrics.size(); ++i) {
      evaluation.metrics[i].second += result.metrics[i] * samples;
      spreads[i].Add(result.metrics[i], samples);
    }
    correct += result.correct.value_or(0);
    answers += result.answers;
  }
  const auto samples = static_cast<double>(evaluation.samples);
  if (has_loss) {
    evaluation.loss = loss / samples;
    evaluation.loss_error = loss_spread.StandardError();
  }
  for (auto& [name, sum] : evaluation.metrics) sum /= samples;
  for (const BatchSpread& spread : spreads) {
    evaluation.metric_errors.push_back(spread.StandardError());
  }
  if (has_answers) {
    const auto share = static_cast<double>(correct) / static_cast<double>(answers);
    evaluation.accuracy = share;
    evaluation.accuracy_error = std::sqrt(share * (1 - share) / static_cast<double>(answers));
  }
  return evaluation;
}

}  // namespace fixpoint
