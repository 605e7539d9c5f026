#include "tools/comparison_report.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tools/json.h"
#include "transpiler/quantize/network_report.h"
#include "transpiler/report/run_report.h"

namespace fixpoint {
namespace {

absl::string_view UnitName(DifferenceUnit unit) {
  return unit == DifferenceUnit::kSteps ? "steps" : "ulp";
}

std::string LargestText(const ComparedVariable& variable) {
  if (std::isinf(variable.largest)) return "NaN";
  if (!variable.UnitSaysHowMuch()) return absl::StrFormat("%.3g", variable.largest_as_number);
  return absl::StrFormat("%.0f %s", variable.largest, UnitName(variable.unit));
}

std::string FirstText(const FirstDifference& first) {
  return absl::StrFormat("run %d, element %d: %.9g and %.9g", first.run, first.element, first.value,
                         first.other);
}

constexpr WhyLeftOut kReasonsLeftOut[] = {WhyLeftOut::kOnlyInProgram, WhyLeftOut::kOnlyInOther,
                                          WhyLeftOut::kPersistable, WhyLeftOut::kNoTensor,
                                          WhyLeftOut::kNotWritten};

absl::string_view NameOf(WhyLeftOut why) {
  switch (why) {
    case WhyLeftOut::kOnlyInProgram:
      return "only_in_program";
    case WhyLeftOut::kOnlyInOther:
      return "only_in_other";
    case WhyLeftOut::kPersistable:
      return "persistable";
    case WhyLeftOut::kNoTensor:
      return "no_tensor";
    case WhyLeftOut::kNotWritten:
      return "not_written";
  }
  return "";
}

// "only net.txt writes them"
std::string SentenceOf(WhyLeftOut why, const std::string& program, const std::string& other) {
  switch (why) {
    case WhyLeftOut::kOnlyInProgram:
      return absl::StrCat("only ", program, " writes them");
    case WhyLeftOut::kOnlyInOther:
      return absl::StrCat("only ", other, " writes them");
    case WhyLeftOut::kPersistable:
      return "they are state, which is persistable";
    case WhyLeftOut::kNoTensor:
      return "they are no tensors";
    case WhyLeftOut::kNotWritten:
      return "ops write them in training alone";
  }
  return "";
}

std::vector<absl::string_view> NamesLeftOut(const std::vector<VariableLeftOut>& left_out,
                                            WhyLeftOut why) {
  std::vector<absl::string_view> names;
  for (const VariableLeftOut& variable : left_out) {
    if (variable.why == why) names.push_back(variable.name);
  }
  return names;
}

std::string LeftOutText(const std::string& program, const std::string& other,
                        const std::vector<VariableLeftOut>& left_out) {
  std::string text;
  for (const WhyLeftOut why : kReasonsLeftOut) {
    const std::vector<absl::string_view> names = NamesLeftOut(left_out, why);
    if (names.empty()) continue;
    absl::StrAppend(&text, "left out, because ", SentenceOf(why, program, other), ": ",
                    absl::StrJoin(names, ", "), "\n");
  }
  return text;
}

}  // namespace

std::string ComparisonText(const std::string& program, const std::string& other,
                           const Comparison& comparison) {
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
  absl::StrAppend(&text, LeftOutText(program, other, comparison.left_out()), comparison.different(),
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
    json.Key("largest_as_number").Double(variable.largest_as_number);
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
  json.EndArray();
  json.Key("left_out").BeginArray();
  for (const VariableLeftOut& variable : comparison.left_out()) {
    json.BeginObject();
    json.Key("name").String(variable.name);
    json.Key("why").String(NameOf(variable.why));
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

void AddComparison(const std::string& program, const std::string& other,
                   const Comparison& comparison, RunReport* report) {
  const auto writers = WritersIn(report);
  for (const ComparedVariable& variable : comparison.variables()) {
    const auto writer = writers.find(variable.name);
    if (writer != writers.end()) AddDifference(variable, writer->second);
  }
  for (const WhyLeftOut why : kReasonsLeftOut) {
    const size_t count = NamesLeftOut(comparison.left_out(), why).size();
    if (count == 0) continue;
    report->add_notes(absl::StrCat(count, count == 1 ? " variable is" : " variables are",
                                   " left out, because ", SentenceOf(why, program, other), "."));
  }
}

}  // namespace fixpoint
