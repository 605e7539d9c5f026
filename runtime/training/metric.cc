#include "runtime/training/metric.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace fixpoint {

std::optional<double> Metric::In(const Evaluation& evaluation) const {
  std::optional<double> value;
  if (name == "accuracy") value = evaluation.accuracy;
  if (name == "loss") value = evaluation.loss;
  for (const auto& [variable, mean] : evaluation.metrics) {
    if (is_variable() && variable == name) value = mean;
  }
  return value && std::isfinite(*value) ? value : std::nullopt;
}

absl::StatusOr<Metric> ParseMetric(absl::string_view text) {
  if (text == "accuracy") return Metric{"accuracy", true};
  if (text == "loss") return Metric{"loss", false};
  absl::string_view name = text;
  const bool larger_is_better = absl::ConsumePrefix(&name, "max:");
  if ((larger_is_better || absl::ConsumePrefix(&name, "min:")) && !name.empty() &&
      name != "accuracy" && name != "loss") {
    return Metric{std::string(name), larger_is_better};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is no metric; want accuracy, loss, or a variable as max:NAME or min:NAME"));
}

}  // namespace fixpoint
