#include "transpiler/report/page/summary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "transpiler/report/advice.h"
#include "transpiler/report/layers.h"
#include "transpiler/report/page/numbers.h"

namespace fixpoint {
namespace {

using Form = RunReport::Form;
using Metric = RunReport::Metric;

constexpr size_t kMostNamed = 6;    // layers of one advice
constexpr size_t kMostAdvice = 12;  // that is not folded

void WriteTile(const std::string& title, const std::string& number, const std::string& note,
               const char* kind, Html* html) {
  html->Open("div", {{"class", absl::StrCat("tile ", kind)}});
  html->Element("dt", title);
  html->Open("dd").Element("strong", number);
  if (!note.empty()) html->Element("small", note);
  html->Close().Close();
}

// "+0.12" or "-0.12 points": between two numbers of a unit.
std::string ChangeText(double change, const std::string& unit) {
  return absl::StrCat(change > 0 ? "+" : "",
                      unit.empty() ? NumberText(change) : absl::StrFormat("%.2f points", change));
}

void WriteMetric(const Metric& metric, Html* html) {
  const auto text = [&metric](double number) { return NumberText(number, metric.unit()); };
  if (!metric.has_before() || !metric.has_after()) {
    WriteTile(metric.name(), text(metric.has_after() ? metric.after() : metric.before()),
              metric.has_samples() ? CountText(metric.samples(), "sample") : "", "", html);
    return;
  }
  const double change = metric.after() - metric.before();
  const bool is_worse = metric.higher_is_better() ? change < 0 : change > 0;
  const bool is_met =
      !metric.has_bound() || (metric.higher_is_better() ? metric.after() >= metric.bound()
                                                        : metric.after() <= metric.bound());
  std::string note = ChangeText(change, metric.unit());
  if (metric.has_samples()) absl::StrAppend(&note, ", ", CountText(metric.samples(), "sample"));
  if (metric.has_standard_error()) {
    absl::StrAppend(&note, ", standard error ", text(metric.standard_error()));
  }
  if (metric.has_bound()) {
    absl::StrAppend(&note, is_met ? ", within " : ", asked for ", text(metric.bound()));
  }
  WriteTile(metric.name(), absl::StrCat(text(metric.before()), kArrow, text(metric.after())), note,
            !is_met                           ? "bad"
            : is_worse && !metric.has_bound() ? ""
                                              : "good",
            html);
}

// The last form that says a number beside the first: "1.7 MB -> 440 kB" and "26 % of float".
void WriteForms(const RunReport& report, const std::string& title, bool (*says)(const Form&),
                double (*number)(const Form&), std::string (*text)(double), Html* html) {
  if (report.forms_size() == 0 || !says(report.forms(0))) return;
  const Form& first = report.forms(0);
  const Form* last = nullptr;
  for (int i = 1; i < report.forms_size(); ++i) {
    if (says(report.forms(i))) last = &report.forms(i);
  }
  if (last == nullptr) {
    WriteTile(title, text(number(first)), first.name(), "", html);
    return;
  }
  const double before = number(first);
  const double after = number(*last);
  WriteTile(title, absl::StrCat(text(before), kArrow, text(after)),
            before > 0 ? absl::StrCat(ShareText(after / before), " of ", first.name()) : "",
            after < before ? "good" : "", html);
}

void WriteTiles(const RunReport& report, Html* html) {
  html->Open("dl", {{"class", "tiles"}});
  for (const Metric& metric : report.metrics()) WriteMetric(metric, html);
  WriteForms(
      report, "parameters", [](const Form& form) { return form.has_parameter_bytes(); },
      [](const Form& form) { return static_cast<double>(form.parameter_bytes()); },
      [](double bytes) { return BytesText(static_cast<int64_t>(bytes)); }, html);
  WriteForms(
      report, "expected time", [](const Form& form) { return form.has_milliseconds(); },
      [](const Form& form) { return form.milliseconds(); }, &MillisecondsText, html);
  const QuantizedOps counted = CountQuantizedOps(report);
  if (counted.decided > 0) {
    WriteTile(counted.are_lowered ? "on integers" : "quantized",
              absl::StrCat(counted.done, " of ", counted.decided),
              absl::StrCat("of ", CountText(report.ops_size(), "op"), " in all"), "", html);
  }
  const std::vector<int> layers = LayersWorstFirst(report);
  const RunReport::Op* noisy = nullptr;
  int64_t different = 0;
  int64_t elements = 0;
  for (const int layer : layers) {
    const RunReport::Op& op = report.ops(layer);
    different += op.difference().different();
    elements += op.difference().elements();
    if (!op.has_signal_to_noise() || std::isnan(op.signal_to_noise())) continue;
    if (noisy == nullptr || op.signal_to_noise() < noisy->signal_to_noise()) noisy = &op;
  }
  if (noisy != nullptr) {
    WriteTile("lowest signal to noise", DecibelText(noisy->signal_to_noise()),
              absl::StrCat(noisy->type(), kArrow, noisy->output()), "", html);
  }
  if (report.has_other() && elements > 0) {
    WriteTile("elements that differ", absl::StrCat(different), absl::StrCat("of ", elements),
              different == 0 ? "good" : "", html);
  }
  html->Close();
}

using Rows = std::vector<std::pair<std::string, std::vector<std::string>>>;

// A table of names, with a value for each run; what differs is marked.
void WriteNamedValues(const std::string& caption, const std::vector<std::string>& columns,
                      const Rows& rows, bool marks, Html* html) {
  if (rows.empty()) return;
  html->Open("div",
             {{"class", "scrolls"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", caption}});
  html->Open("table").Element("caption", caption);
  html->Open("thead").Open("tr").Element("td", "");
  for (const std::string& column : columns) html->Element("th", column, {{"scope", "col"}});
  html->Close().Close().Open("tbody");
  for (const auto& [name, values] : rows) {
    const bool differs = marks && std::any_of(values.begin(), values.end(), [&](const auto& value) {
                           return value != values.front();
                         });
    html->Open("tr", {{"class", differs ? "differs" : ""}});
    html->Open("th", {{"scope", "row"}}).Text(name);
    if (differs) html->Element("span", "differs", {{"class", "mark"}});
    html->Close();
    for (const std::string& value : values) html->Element("td", value);
    html->Close();
  }
  html->Close().Close().Close();
}

Rows SettingsOf(const std::vector<RunView>& runs) {
  Rows rows;
  absl::flat_hash_map<std::string, size_t> by_name;
  const auto set = [&](size_t run, const std::string& name, const std::string& value) {
    if (value.empty()) return;
    const auto [found, is_new] = by_name.try_emplace(name, rows.size());
    if (is_new) rows.push_back({name, std::vector<std::string>(runs.size())});
    rows[found->second].second[run] = value;
  };
  for (size_t run = 0; run < runs.size(); ++run) {
    const RunReport& report = *runs[run].report;
    set(run, "tool", report.tool());
    set(run, "program", report.program());
    set(run, "compared with", report.other());
    set(run, "target", report.target());
    for (const RunReport::Setting& setting : report.settings()) {
      set(run, setting.name(), setting.value());
    }
  }
  return rows;
}

Rows FormsOf(const RunReport& report) {
  Rows rows;
  const auto add = [&](const std::string& name, bool (*says)(const Form&),
                       std::string (*text)(const Form&)) {
    const auto& forms = report.forms();
    if (std::none_of(forms.begin(), forms.end(), says)) return;
    auto& [title, values] = rows.emplace_back();
    title = name;
    for (const Form& form : forms) values.push_back(says(form) ? text(form) : "");
  };
  add(
      "parameters", [](const Form& form) { return form.has_parameter_bytes(); },
      [](const Form& form) { return BytesText(form.parameter_bytes()); });
  add(
      "activations, peak", [](const Form& form) { return form.has_activation_bytes(); },
      [](const Form& form) { return BytesText(form.activation_bytes()); });
  add(
      "multiply-adds", [](const Form& form) { return form.has_multiply_adds(); },
      [](const Form& form) { return absl::StrFormat("%.0f", form.multiply_adds()); });
  add(
      "of these on integers", [](const Form& form) { return form.multiply_adds() > 0; },
      [](const Form& form) {
        return ShareText(form.integer_multiply_adds() / form.multiply_adds());
      });
  add(
      "expected time", [](const Form& form) { return form.has_milliseconds(); },
      [](const Form& form) { return MillisecondsText(form.milliseconds()); });
  return rows;
}

// The advice of a run, each with the layers that it is for, the worst layer first.
struct Advised {
  std::string text;
  std::vector<int> ops;
};
std::vector<Advised> AdviceOf(const RunReport& report) {
  std::vector<Advised> all;
  absl::flat_hash_map<std::string, size_t> by_text;
  for (const int layer : LayersWorstFirst(report)) {
    for (const Advice& advice : AdviceFor(report, report.ops(layer))) {
      const auto [found, is_new] = by_text.try_emplace(advice.text, all.size());
      if (is_new) all.push_back({advice.text, {}});
      all[found->second].ops.push_back(layer);
    }
  }
  return all;
}

void WriteAdvised(const RunView& run, const Advised& advised, Html* html) {
  html->Open("li").Open("p", {{"class", "where"}});
  for (size_t i = 0; i < std::min(advised.ops.size(), kMostNamed); ++i) {
    const RunReport::Op& op = run.report->ops(advised.ops[i]);
    if (i > 0) html->Text(", ");
    html->Open("a", {{"href", absl::StrCat("#", LayerId(run, advised.ops[i]))}});
    html->Text(op.type() + " ").Element("code", op.output()).Close();
  }
  if (advised.ops.size() > kMostNamed) {
    html->Text(absl::StrCat(" and ", advised.ops.size() - kMostNamed, " more"));
  }
  html->Close().Element("p", advised.text).Close();
}

}  // namespace

void WriteSummary(const std::vector<RunView>& runs, Html* html) {
  html->Open("div", {{"class", runs.size() > 1 ? "beside" : ""}});
  for (const RunView& run : runs) {
    html->Open("div");
    if (!run.name.empty()) html->Element("h3", run.name);
    WriteTiles(*run.report, html);
    for (const std::string& note : run.report->notes()) {
      html->Element("p", note, {{"class", "note"}});
    }
    html->Close();
  }
  html->Close();
}

void WriteSettings(const std::vector<RunView>& runs, Html* html) {
  std::vector<std::string> columns;
  for (const RunView& run : runs) columns.push_back(run.name.empty() ? "this run" : run.name);
  WriteNamedValues("What was asked for", columns, SettingsOf(runs), /*marks=*/true, html);
  for (const RunView& run : runs) {
    std::vector<std::string> forms;
    for (const Form& form : run.report->forms()) forms.push_back(form.name());
    WriteNamedValues(absl::StrCat("What the program takes", run.name.empty() ? "" : ": ", run.name),
                     forms, FormsOf(*run.report), /*marks=*/false, html);
  }
}

void WriteDecisions(const RunView& run, Html* html) {
  struct Counts {
    int total = 0;
    int done = 0;
    int left = 0;  // in float, or at the edge
  };
  std::map<std::string, Counts> by_type;
  std::map<std::string, std::pair<std::string, int>> reasons;
  for (const RunReport::Op& op : run.report->ops()) {
    Counts& counts = by_type[op.type()];
    ++counts.total;
    const OpState state = StateOf(op);
    if (state == OpState::kIntegers || state == OpState::kQuantized) ++counts.done;
    if (state == OpState::kFloat || state == OpState::kEdge) ++counts.left;
    for (const Why& why : {WhyPlanned(op), WhyLowered(op)}) {
      // An op that reads no quantizer of its own can be on integers all the same.
      const bool is_overruled = state == OpState::kIntegers && !op.quantized();
      if (why.code.empty() || is_overruled) continue;
      auto& [meaning, count] = reasons[why.code];
      meaning = why.meaning;
      ++count;
    }
  }
  Rows rows;
  for (const auto& [type, counts] : by_type) {
    rows.push_back(
        {type,
         {absl::StrCat(counts.total), absl::StrCat(counts.done), absl::StrCat(counts.left),
          absl::StrCat(counts.total - counts.done - counts.left)}});
  }
  const char* const done = CountQuantizedOps(*run.report).are_lowered ? "on integers" : "quantized";
  WriteNamedValues("Ops by type", {"ops", done, "float", "as it was"}, rows,
                   /*marks=*/false, html);
  Rows meanings;
  for (const auto& [code, reason] : reasons) {
    meanings.push_back({code, {absl::StrCat(reason.second), reason.first}});
  }
  WriteNamedValues("Reasons", {"ops", "meaning"}, meanings, /*marks=*/false, html);
}

void WriteAdvice(const RunView& run, Html* html) {
  const std::vector<Advised> all = AdviceOf(*run.report);
  if (all.empty()) {
    html->Element("p", "Nothing: no layer shows what the known remedies are for.");
    return;
  }
  html->Open("ol", {{"class", "advice"}});
  for (size_t i = 0; i < std::min(all.size(), kMostAdvice); ++i) {
    WriteAdvised(run, all[i], html);
  }
  html->Close();
  if (all.size() <= kMostAdvice) return;
  html->Open("details").Element("summary", absl::StrCat(all.size() - kMostAdvice, " more"));
  html->Open("ol", {{"class", "advice"}, {"start", absl::StrCat(kMostAdvice + 1)}});
  for (size_t i = kMostAdvice; i < all.size(); ++i) WriteAdvised(run, all[i], html);
  html->Close().Close();
}

}  // namespace fixpoint
