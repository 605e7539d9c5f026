#include "tools/evaluation_report.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace fixpoint {

std::string MeasuredText(double number, absl::string_view unit) {
  return unit.empty() ? absl::StrFormat("%.4f", number)
                      : absl::StrFormat("%.2f %s", number, std::string(unit));
}

std::string EvaluationText(const Evaluation& evaluation) {
  std::vector<std::string> parts;
  if (evaluation.loss) parts.push_back(absl::StrFormat("loss %.4f", *evaluation.loss));
  if (evaluation.accuracy) {
    parts.push_back(absl::StrCat("accuracy ", MeasuredText(100 * *evaluation.accuracy, "%")));
  }
  for (const auto& [name, mean] : evaluation.metrics) {
    parts.push_back(absl::StrFormat("%s %.4f", name, mean));
  }
  return absl::StrJoin(parts, ", ");
}

void WriteEvaluation(const Evaluation& evaluation, absl::string_view prefix, JsonWriter& json) {
  if (evaluation.loss) json.Key(absl::StrCat(prefix, "loss")).Double(*evaluation.loss);
  if (evaluation.accuracy) json.Key(absl::StrCat(prefix, "accuracy")).Double(*evaluation.accuracy);
  for (const auto& [name, mean] : evaluation.metrics) {
    json.Key(absl::StrCat(prefix, name)).Double(mean);
  }
}

}  // namespace fixpoint
