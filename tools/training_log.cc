#include "tools/training_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/base/status_macros.h"
#include "tools/evaluation_report.h"
#include "tools/json.h"
#include "tools/outputs.h"

namespace fixpoint {

absl::Status TrainingLog::Begin(const BatchRunOptions& options, int64_t begin, int64_t steps,
                                const std::string& path, int64_t length) {
  ASSIGN_OR_RETURN(MetricsLog metrics, MetricsLog::Open(path, length));
  metrics_.emplace(std::move(metrics));
  measured_ = options.variables.metrics;
  begun_at_ = Clock::now();
  begun_with_ = begin;
  steps_ = steps;
  return absl::OkStatus();
}

absl::Status TrainingLog::Tell(const std::string& text, bool output_is_taken) {
  progress_.Clear();
  return WriteReport(text, output_is_taken);
}

absl::Status TrainingLog::TellOfStep(int64_t step, const BatchResult& result,
                                     std::optional<double> rate) {
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_at_).count();
  const auto done = static_cast<double>(step - begun_with_);
  std::optional<double> accuracy;
  if (result.correct) {
    accuracy = static_cast<double>(*result.correct) / static_cast<double>(result.answers);
  }
  samples_ += result.samples;
  if (progress_.IsDue()) {
    progress_.Show(
        ProgressText({step, steps_, *result.loss, accuracy, static_cast<double>(samples_) / seconds,
                      seconds / done * static_cast<double>(steps_ - step)}));
  }
  if (!metrics_->is_open()) return absl::OkStatus();
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.BeginObject().Key("step").Int(step).Key("loss").Double(*result.loss);
  if (accuracy) json.Key("accuracy").Double(*accuracy);
  for (size_t i = 0; i < measured_.size(); ++i) json.Key(measured_[i]).Double(result.metrics[i]);
  if (rate) json.Key("learning_rate").Double(*rate);
  json.Key("seconds").Double(seconds).EndObject();
  return metrics_->Append(json.Take());
}

absl::Status TrainingLog::TellOfEvaluation(int64_t step, int64_t epoch,
                                           const Evaluation& evaluation, bool output_is_taken) {
  RETURN_IF_ERROR(
      Tell(absl::StrFormat("step %d, epoch %d: test %s\n", step, epoch, EvaluationText(evaluation)),
           output_is_taken));
  if (!metrics_->is_open()) return absl::OkStatus();
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.BeginObject().Key("step").Int(step);
  WriteEvaluation(evaluation, "test_", json);
  json.EndObject();
  return metrics_->Append(json.Take());
}

}  // namespace fixpoint
