#include "transpiler/quantize/metric.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/dims.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/data/image_samples.h"
#include "runtime/tensor.h"
#include "runtime/training/evaluator.h"

namespace fixpoint {
namespace {

constexpr double kPercent = 100;

bool HasLabels(const SampleSet& set) {
  return std::any_of(set.fields().begin(), set.fields().end(), [](const SampleField& field) {
    return field.name == ImageSamples::kLabelsField;
  });
}

absl::StatusOr<double> NumberIn(const std::string& name, const Tensor& tensor) {
  double number = 0;
  if (tensor.size() == 1 && tensor.dtype() == VarType::FP32) {
    number = tensor.data<float>()[0];
  } else if (tensor.size() == 1 && tensor.dtype() == VarType::FP64) {
    number = tensor.data<double>()[0];
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("the metric \"", name, "\" is ", VarType::Type_Name(tensor.dtype()), " ",
                     DimsText(tensor.dims()), "; want one FP32 or FP64 number"));
  }
  if (std::isfinite(number)) return number;
  return absl::InvalidArgumentError(
      absl::StrCat("the metric \"", name, "\" is ", number, "; want a finite number"));
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
            "the metric accuracy: which variable holds the scores of the classes is not known");
      }
      if (HasLabels(set)) return absl::OkStatus();
      return absl::InvalidArgumentError(
          "the metric accuracy: the samples have no labels; want them in an array of integers, "
          "\"labels\"");
    case Kind::kLoss:
      if (!variables.loss.empty()) return absl::OkStatus();
      return absl::InvalidArgumentError("the metric loss: which variable is the loss is not known");
    case Kind::kVariable:
      break;
  }
  if (program.Find(program.block(0), name_) != nullptr) return absl::OkStatus();
  std::vector<std::string> names = {"accuracy", "loss"};
  for (const Variable* variable : program.block(0).variables()) names.push_back(variable->name());
  return absl::InvalidArgumentError(absl::StrCat(
      "the metric \"", name_, "\" is no variable of the program; want accuracy, loss or a variable",
      DidYouMean(name_, names)));
}

absl::StatusOr<double> Metric::Measure(const Program& program, Scope* scope, const SampleSet& set,
                                       const BatchRunOptions& options) const {
  if (kind_ != Kind::kVariable) {
    ASSIGN_OR_RETURN(Evaluator evaluator, Evaluator::Create(program, scope, &set, options));
    ASSIGN_OR_RETURN(const Evaluation evaluation, evaluator.Run());
    return kind_ == Kind::kLoss ? *evaluation.loss : kPercent * *evaluation.accuracy;
  }
  BatchRunOptions in_order = options;
  in_order.batches.shuffle = false;
  ASSIGN_OR_RETURN(BatchRunner runner, BatchRunner::Create(program, scope, &set, in_order));
  double sum = 0;
  double samples = 0;
  const std::vector<std::string> fetched = {name_};
  for (int64_t batch = 0; batch < runner.BatchesPerEpoch(); ++batch) {
    ASSIGN_OR_RETURN(const BatchResult result, runner.Run(batch, /*step=*/0, fetched));
    ASSIGN_OR_RETURN(const double number, NumberIn(name_, result.fetched.front()));
    sum += number * static_cast<double>(result.samples);
    samples += static_cast<double>(result.samples);
  }
  return sum / samples;
}

}  // namespace fixpoint
