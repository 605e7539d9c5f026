#include "runtime/training/metric.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/backend.h"
#include "runtime/data/image_samples.h"

namespace fixpoint {
namespace {

constexpr double kPercent = 100;

bool HasLabels(const SampleSet& set, const NetworkVariables& variables) {
  return std::any_of(set.fields().begin(), set.fields().end(), [&](const SampleField& field) {
    return field.name == ImageSamples::kLabelsField ||
           (!variables.labels.empty() && field.name == variables.labels);
  });
}

}  // namespace

Metric Metric::OfName(absl::string_view name) {
  if (name == "accuracy") return Metric(Kind::kAccuracy, name, /*less_is_better=*/false);
  if (name == "loss") return Metric(Kind::kLoss, name, /*less_is_better=*/true);
  const bool less = absl::ConsumePrefix(&name, "-");
  return Metric(Kind::kVariable, name, less);
}

absl::Status Metric::CheckIsThere(const Program& program, const NetworkVariables& variables,
                                  const SampleSet& set) const {
  switch (kind_) {
    case Kind::kAccuracy:
      if (variables.scores.empty()) {
        return absl::InvalidArgumentError(
            "the metric accuracy: which variable holds the scores of the classes is not known; "
            "want --scores=NAME");
      }
      if (HasLabels(set, variables)) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat(
          "the metric accuracy: the samples have no labels; want them in an array of integers, "
          "\"labels\"",
          variables.labels.empty() ? "" : absl::StrCat(" or \"", variables.labels, "\"")));
    case Kind::kLoss:
      if (!variables.loss.empty()) return absl::OkStatus();
      return absl::InvalidArgumentError(
          "the metric loss: which variable is the loss is not known; want --loss=NAME");
    case Kind::kVariable:
      break;
  }
  if (name_ == variables.loss && !less_is_better_) {
    return absl::InvalidArgumentError(
        absl::StrCat("the metric \"", name_,
                     "\" is the loss of the program, of which less is better; want \"loss\" or \"-",
                     name_, "\""));
  }
  if (program.Find(program.block(0), name_) != nullptr) return absl::OkStatus();
  if (name_ == "accuracy" || name_ == "loss") {
    return absl::InvalidArgumentError(absl::StrCat("the metric \"-", name_, "\": which way ", name_,
                                                   " is better is known; want \"", name_, "\""));
  }
  std::vector<std::string> names = {"accuracy", "loss"};
  for (const Variable* variable : program.block(0).variables()) names.push_back(variable->name());
  return absl::InvalidArgumentError(absl::StrCat(
      "the metric \"", name_, "\" is no variable of the program; want accuracy, loss or a variable",
      DidYouMean(name_, names)));
}

std::optional<Measured> Metric::MeasuredIn(const Evaluation& evaluation) const {
  switch (kind_) {
    case Kind::kAccuracy:
      if (!evaluation.accuracy) return std::nullopt;
      return Measured{kPercent * *evaluation.accuracy,
                      kPercent * evaluation.accuracy_error.value_or(0)};
    case Kind::kLoss:
      if (!evaluation.loss) return std::nullopt;
      return Measured{*evaluation.loss, evaluation.loss_error};
    case Kind::kVariable:
      break;
  }
  for (size_t i = 0; i < evaluation.metrics.size(); ++i) {
    const auto& [name, mean] = evaluation.metrics[i];
    if (name == name_) return Measured{mean, evaluation.metric_errors[i]};
  }
  return std::nullopt;
}

std::optional<double> Metric::In(const Evaluation& evaluation) const {
  const std::optional<Measured> measured = MeasuredIn(evaluation);
  if (!measured || !std::isfinite(measured->value)) return std::nullopt;
  return measured->value;
}

absl::StatusOr<Measured> Metric::MeasureOrWorst(const Program& program, Scope* scope,
                                                const SampleSet& set,
                                                BatchRunOptions options) const {
  options.variables.metrics.clear();
  if (is_variable()) options.variables.metrics.push_back(name_);
  ASSIGN_OR_RETURN(Evaluator evaluator, Evaluator::Create(program, scope, &set, options));
  const absl::StatusOr<Evaluation> evaluation = evaluator.Run();
  if (IsNotFinite(evaluation.status())) {
    return absl::InvalidArgumentError(evaluation.status().message());
  }
  RETURN_IF_ERROR(evaluation.status());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::optional<Measured> measured = MeasuredIn(*evaluation);
  if (measured && std::isfinite(measured->value)) return *measured;
  return Measured{less_is_better_ ? kInfinity : -kInfinity};
}

absl::StatusOr<Measured> Metric::Measure(const Program& program, Scope* scope, const SampleSet& set,
                                         BatchRunOptions options) const {
  ASSIGN_OR_RETURN(const Measured measured,
                   MeasureOrWorst(program, scope, set, std::move(options)));
  if (std::isfinite(measured.value)) return measured;
  return absl::InvalidArgumentError(
      absl::StrCat("the metric ", name_, " is not a finite number; want one"));
}

}  // namespace fixpoint
