#include "tools/training_report.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/tensor.h"
#include "runtime/training/rate_schedule.h"
#include "tools/staged_report.h"

namespace fixpoint {
namespace {

constexpr int kMostPoints = 2000;

std::optional<double> ScalarIn(const Scope& scope, absl::string_view name) {
  const absl::StatusOr<const Tensor*> tensor = scope.Find(name);
  if (!tensor.ok() || (*tensor)->dtype() != VarType::FP32 || (*tensor)->size() != 1) {
    return std::nullopt;
  }
  return static_cast<double>((*tensor)->data<float>()[0]);
}

// An accuracy in percent, as metrics give it.
constexpr double kPercent = 100;
constexpr char kPercentUnit[] = "%";

RunReport::Metric MetricOf(absl::string_view name, double number, int64_t samples) {
  RunReport::Metric metric;
  metric.set_name(std::string(name));
  metric.set_after(number);
  metric.set_samples(samples);
  return metric;
}

}  // namespace

TrainingReport::TrainingReport(const Program& training) : rate_variable_(FindFirstRate(training)) {}

void TrainingReport::Add(absl::string_view name, int64_t step, double number, const char* unit) {
  auto found = std::find_if(followed_.begin(), followed_.end(), [name](const Followed& followed) {
    return followed.curve.name() == name;
  });
  if (found == followed_.end()) {
    found = followed_.emplace(followed_.end());
    found->curve.set_name(std::string(name));
    if (unit != nullptr) found->curve.set_unit(unit);
  }
  RunReport::Curve& curve = found->curve;
  if (found->count++ % found->stride != 0) return;
  curve.add_steps(step);
  curve.add_values(number);
  if (curve.steps_size() < kMostPoints) return;
  RunReport::Curve thinner;
  thinner.set_name(curve.name());
  if (curve.has_unit()) thinner.set_unit(curve.unit());
  for (int i = 0; i < curve.steps_size(); i += 2) {
    thinner.add_steps(curve.steps(i));
    thinner.add_values(curve.values(i));
  }
  curve = std::move(thinner);
  found->stride *= 2;
}

void TrainingReport::AddStep(int64_t step, const BatchResult& result, std::optional<double> rate,
                             const Scope& scope) {
  if (result.loss) Add("loss", step, *result.loss);
  if (result.correct && result.answers > 0) {
    Add("accuracy", step,
        kPercent * static_cast<double>(*result.correct) / static_cast<double>(result.answers),
        kPercentUnit);
  }
  if (!rate) rate = ScalarIn(scope, rate_variable_);
  if (rate) Add("learning rate", step, *rate);
}

void TrainingReport::AddEvaluation(int64_t step, const Evaluation& evaluation) {
  last_ = evaluation;
  if (evaluation.loss) Add("test loss", step, *evaluation.loss);
  if (evaluation.accuracy) {
    Add("test accuracy", step, kPercent * *evaluation.accuracy, kPercentUnit);
  }
  for (const auto& [name, value] : evaluation.metrics) {
    Add(absl::StrCat("test ", name), step, value);
  }
}

RunReport TrainingReport::Finish(const Program& test, const Scope& trained,
                                 const QuantizerTable& quantizers) const {
  RunReport report;
  report.set_tool("train");
  if (last_.accuracy) {
    RunReport::Metric& metric = *report.add_metrics();
    metric = MetricOf("test accuracy", kPercent * *last_.accuracy, last_.samples);
    metric.set_unit(kPercentUnit);
    metric.set_higher_is_better(true);
  }
  if (last_.loss) *report.add_metrics() = MetricOf("test loss", *last_.loss, last_.samples);
  for (const auto& [name, value] : last_.metrics) {
    *report.add_metrics() = MetricOf(absl::StrCat("test ", name), value, last_.samples);
  }
  AddProgram(test, trained, quantizers, &report);
  for (const Followed& followed : followed_) *report.add_curves() = followed.curve;
  return report;
}

}  // namespace fixpoint
