#include "tools/comparison_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "tools/json.h"

namespace fixpoint {
namespace {

absl::string_view UnitName(DifferenceUnit unit) {
  return unit == DifferenceUnit::kSteps ? "steps" : "ulp";
}

std::string LargestText(const ComparedVariable& variable) {
  if (std::isinf(variable.largest)) return "NaN";
  return absl::StrFormat("%.0f %s", variable.largest, UnitName(variable.unit));
}

std::string FirstText(const FirstDifference& first) {
  return absl::StrFormat("run %d, element %d: %.9g and %.9g", first.run, first.element, first.value,
                         first.other);
}

}  // namespace

std::string ComparisonText(const Comparison& comparison) {
  size_t width = 8;
  for (const ComparedVariable& variable : comparison.variables()) {
    width = std::max(width, variable.name.size());
  }
  std::string text = absl::StrFormat("%-*s  %9s  %9s  %14s  %9s  %s\n", width, "variable",
                                     "elements", "differ", "largest", "SNR", "first");
  for (const ComparedVariable& variable : comparison.variables()) {
    const bool differs = variable.different > 0;
    absl::StrAppendFormat(&text, "%-*s  %9d  %9d  %14s  %9s  %s\n", width, variable.name,
                          variable.elements, variable.different,
                          differs ? LargestText(variable) : "-",
                          differs ? absl::StrFormat("%.1f dB", variable.SignalToNoise()) : "-",
                          differs ? FirstText(*variable.first) : "-");
  }
  absl::StrAppend(&text, comparison.different(),
                  comparison.different() == 1 ? " element differs, of " : " elements differ, of ",
                  comparison.elements(), " in ", comparison.variables().size(), " variables");
  const ComparedVariable* first = comparison.FirstThatDiffers();
  if (first != nullptr) absl::StrAppend(&text, "; the first is ", first->name);
  if (comparison.ties() > 0) {
    absl::StrAppend(&text, "; ", comparison.ties(), " by one step where a tie is rounded");
  }
  if (comparison.other_zeros() > 0) {
    absl::StrAppend(&text, "; ", comparison.other_zeros(), " zeros have the other sign");
  }
  return text + "\n";
}

std::string ComparisonJson(const std::string& program, const std::string& other,
                           const Comparison& comparison) {
  const ComparedVariable* first = comparison.FirstThatDiffers();
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("program").String(program);
  json.Key("other").String(other);
  json.Key("elements").Int(comparison.elements());
  json.Key("different").Int(comparison.different());
  json.Key("ties").Int(comparison.ties());
  json.Key("other_zeros").Int(comparison.other_zeros());
  json.Key("first_that_differs").String(first != nullptr ? first->name : "");
  json.Key("variables").BeginArray();
  for (const ComparedVariable& variable : comparison.variables()) {
    json.BeginObject();
    json.Key("name").String(variable.name);
    json.Key("elements").Int(variable.elements);
    json.Key("different").Int(variable.different);
    json.Key("ties").Int(variable.ties);
    json.Key("other_zeros").Int(variable.other_zeros);
    json.Key("unit").String(UnitName(variable.unit));
    json.Key("largest").Double(variable.largest);
    json.Key("signal_to_noise_db").Double(variable.SignalToNoise());
    if (variable.first) {
      json.Key("first").BeginObject();
      json.Key("run").Int(variable.first->run);
      json.Key("element").Int(variable.first->element);
      json.Key("value").Double(variable.first->value);
      json.Key("other").Double(variable.first->other);
      json.EndObject();
    }
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace fixpoint
