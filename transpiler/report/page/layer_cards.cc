#include "transpiler/report/page/layer_cards.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "transpiler/report/advice.h"
#include "transpiler/report/layers.h"
#include "transpiler/report/lowering_account.h"
#include "transpiler/report/page/chart.h"
#include "transpiler/report/page/numbers.h"

namespace fixpoint {
namespace {

using Op = RunReport::Op;
using Value = RunReport::Value;

// A ratio that fills its bar: that of 8 bits which fit, about.
constexpr double kFullBar = 50;

const Op* OpOf(const RunView& run, int op) { return op < 0 ? nullptr : &run.report->ops(op); }

// Of a number of decibels: what colours it.
const char* NoiseClass(double decibels) {
  return decibels < 15 ? "bad" : decibels < 25 ? "warn" : "good";
}

// Nothing where nothing was decided, as in a comparison of two float programs.
void WriteBadge(const Op& op, Html* html) {
  const OpState state = StateOf(op);
  if (state == OpState::kUndecided) return;
  const bool is_done = state == OpState::kIntegers || state == OpState::kQuantized;
  const char* kind = is_done ? "done" : state == OpState::kFloat ? "kept" : "plain";
  html->Element("span", StateText(state), {{"class", absl::StrCat("badge ", kind)}});
}

double TotalTime(const RunReport& report) {
  double total = 0;
  for (const Op& op : report.ops()) {
    total += op.has_after() ? op.after().milliseconds() : op.before().milliseconds();
  }
  return total;
}

// "" where nothing is known.
std::string TimeShareText(const Op& op, double total) {
  const RunReport::Cost& cost = op.has_after() ? op.after() : op.before();
  return cost.has_milliseconds() && total > 0 ? ShareText(cost.milliseconds() / total) : "";
}

std::string BytesOf(const Op& op) {
  const bool has_before = op.before().has_parameter_bytes();
  const bool has_after = op.after().has_parameter_bytes();
  if (!has_before && !has_after) return "";
  if (!has_after) return BytesText(op.before().parameter_bytes());
  if (!has_before) return BytesText(op.after().parameter_bytes());
  return absl::StrCat(BytesText(op.before().parameter_bytes()), kArrow,
                      BytesText(op.after().parameter_bytes()));
}

std::string DifferenceText(const Op& op) {
  if (!op.has_difference()) return "";
  const RunReport::Difference& difference = op.difference();
  if (difference.different() == 0) return absl::StrCat("none of ", difference.elements());
  const std::string largest = std::isinf(difference.largest()) ? "NaN"
                              : difference.as_number()
                                  ? NumberText(difference.largest())
                                  : absl::StrFormat("%.0f %s", difference.largest(),
                                                    difference.in_steps() ? "steps" : "ulp");
  return absl::StrCat(difference.different(), " of ", difference.elements(), ", at most ", largest);
}

// The share of the elements that differ.
std::string ShareThatDiffersText(const Op& op) {
  if (op.difference().elements() <= 0) return "";
  return ShareText(static_cast<double>(op.difference().different()) /
                   static_cast<double>(op.difference().elements()));
}

// A column of the table: its title, its text, "" where a layer has none, and what sorts it.
struct Column {
  std::string title;
  std::function<std::string(const Op&)> text;
  std::function<double(const Op&)> number;
  bool is_noise = false;
};

// "" for the only run, " A" and " B" for one of two.
std::string LetterOf(const RunView& run) {
  return run.name.empty() ? "" : absl::StrCat(" ", run.name.substr(0, 1));
}

std::vector<Column> ColumnsOf(const RunView& run) {
  const double total = TotalTime(*run.report);
  const std::string name = LetterOf(run);
  std::vector<Column> columns = {
      {absl::StrCat("signal to noise", name),
       [](const Op& op) {
         return op.has_signal_to_noise() ? DecibelText(op.signal_to_noise()) : "";
       },
       [](const Op& op) { return op.signal_to_noise(); }, true},
      {absl::StrCat("noise alone", name),
       [](const Op& op) { return op.has_sensitivity() ? NumberText(op.sensitivity()) : ""; },
       [](const Op& op) { return op.sensitivity(); }},
  };
  if (run.name.empty()) {  // two runs have them on the cards
    columns.push_back({"time", [total](const Op& op) { return TimeShareText(op, total); },
                       [](const Op& op) {
                         return op.has_after() ? op.after().milliseconds()
                                               : op.before().milliseconds();
                       }});
    columns.push_back({"bytes", &BytesOf, [](const Op& op) {
                         return static_cast<double>(
                             std::max(op.before().parameter_bytes(), op.after().parameter_bytes()));
                       }});
  }
  columns.push_back({absl::StrCat("differ", name), &ShareThatDiffersText, [](const Op& op) {
                       return static_cast<double>(op.difference().different()) /
                              static_cast<double>(op.difference().elements());
                     }});
  return columns;
}

void WriteNothing(const std::string& title, Html* html) {
  html->Element("td", "\xe2\x80\x93", {{"class", "none"}, {"data-title", title}});
}

// As JavaScript reads numbers; "" sorts as what is not there.
std::string SortKey(double number) {
  if (std::isnan(number)) return "";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return absl::StrFormat("%.9g", number);
}

void WriteCell(const Column& column, const Op* op, Html* html) {
  const std::string text = op == nullptr ? "" : column.text(*op);
  if (text.empty()) {
    WriteNothing(column.title, html);
    return;
  }
  const double number = column.number(*op);
  html->Open("td",
             {{"class", "number"}, {"data-title", column.title}, {"data-sort", SortKey(number)}});
  html->Element("span", text);
  if (column.is_noise && !std::isnan(number)) {
    DrawBar(number / kFullBar, NoiseClass(number), html);
  }
  html->Close();
}

void WriteState(const std::string& title, const Op* op, Html* html) {
  if (op != nullptr && StateOf(*op) == OpState::kUndecided) {
    WriteNothing(title, html);
    return;
  }
  html->Open("td", {{"class", "state"}, {"data-title", title}});
  if (op == nullptr) {
    html->Text("not in this run").Close();
    return;
  }
  WriteBadge(*op, html);
  const bool is_kept = StateOf(*op) == OpState::kFloat && !op->quantized();
  const std::string& code = is_kept && op->has_reason() ? op->reason() : op->lowered();
  // The badge says it already.
  const bool says_more = !code.empty() && code != kOnIntegersCode;
  if (says_more) html->Text(" ").Element("code", code);
  html->Close();
}

std::string Lower(absl::string_view text) {
  std::string lower = absl::AsciiStrToLower(text);
  std::replace(lower.begin(), lower.end(), '_', ' ');
  return lower;
}

// "8 bits, unsigned, per tensor, symmetric, moving_average_abs_max".
std::string SpecText(const QuantSpec& spec) {
  std::string text = CountText(spec.bits(), "bit");
  if (spec.has_signedness()) {
    absl::StrAppend(&text, ", ", Lower(QuantSpec::Signedness_Name(spec.signedness())));
  }
  if (spec.has_granularity()) {
    absl::StrAppend(&text, ", ", Lower(QuantSpec::Granularity_Name(spec.granularity())));
  }
  if (spec.has_scheme()) {
    absl::StrAppend(&text, ", ", Lower(QuantSpec::Scheme_Name(spec.scheme())));
  }
  if (spec.has_range_rule()) {
    absl::StrAppend(&text, ", range by ", Lower(QuantSpec::RangeRule_Name(spec.range_rule())));
  }
  if (!spec.quantizer().empty()) absl::StrAppend(&text, ", ", spec.quantizer());
  return text;
}

std::string RangeText(float low, float high) {
  return absl::StrCat(NumberText(static_cast<double>(low)), " to ",
                      NumberText(static_cast<double>(high)));
}

void WriteFact(const std::string& name, const std::string& value, Html* html) {
  if (value.empty()) return;
  html->Open("div").Element("dt", name).Element("dd", value).Close();
}

void WriteValue(const Value& value, Html* html) {
  html->Open("figure", {{"class", "value"}}).Open("figcaption");
  html->Element("code", value.variable()).Text(" ");
  html->Element("span",
                value.observed_only() ? "observed" : Lower(SlotRole::Role_Name(value.role())),
                {{"class", "badge plain"}});
  html->Close();
  DrawHistogram(value, html);
  html->Open("dl", {{"class", "facts"}});
  if (value.has_spec()) WriteFact("codes", SpecText(value.spec()), html);
  if (value.has_high()) WriteFact("they stand for", RangeText(value.low(), value.high()), html);
  if (value.has_min()) WriteFact("seen", RangeText(value.min(), value.max()), html);
  if (value.has_clipped()) WriteFact("clipped", ShareText(value.clipped()), html);
  if (value.has_signal_to_noise()) {
    WriteFact("signal to noise, alone", DecibelText(value.signal_to_noise()), html);
  }
  if (value.has_channels()) {
    WriteFact(
        "channels",
        absl::StrCat(value.channels(),
                     value.dead_channels() > 0
                         ? absl::StrCat(", of which ", value.dead_channels(), " are 0")
                         : "",
                     value.has_channel_spread()
                         ? absl::StrCat("; widest / narrowest ", NumberText(value.channel_spread()))
                         : ""),
        html);
  }
  html->Close().Close();
}

std::string ReasonText(const Why& why) {
  if (why.code.empty() || why.meaning.empty()) return why.code;
  return absl::StrCat(why.code, ": ", why.meaning);
}

// The op that a link names: a card if it has one.
void WriteNeighbours(const RunView& run, const std::string& name, const std::vector<int>& ops,
                     Html* html) {
  if (ops.empty()) return;
  html->Open("div").Element("dt", name).Open("dd");
  for (size_t i = 0; i < ops.size(); ++i) {
    const Op& op = run.report->ops(ops[i]);
    if (i > 0) html->Text(", ");
    if (IsLayer(op)) {
      html->Open("a", {{"href", absl::StrCat("#", LayerId(run, ops[i]))}});
    } else {
      html->Open("span");
    }
    html->Text(op.type() + " ").Element("code", op.output()).Close();
  }
  html->Close().Close();
}

void WriteCard(const RunView& run, int index, Html* html) {
  const Op& op = run.report->ops(index);
  html->Open("div", {{"class", "card"}, {"id", LayerId(run, index)}, {"tabindex", "-1"}});
  if (!run.name.empty()) html->Element("h4", run.name);
  html->Open("dl", {{"class", "facts"}});
  WriteFact("place", absl::StrCat("block ", op.block(), ", op ", op.op()), html);
  if (op.shape_size() > 0) {
    WriteFact("shape", ShapeText({op.shape().begin(), op.shape().end()}), html);
  }
  WriteFact("decision", ReasonText(WhyPlanned(op)), html);
  WriteFact("rule", op.rule(), html);
  WriteFact("detail", op.detail(), html);
  WriteFact("lowered", ReasonText(WhyLowered(op)), html);
  if (op.has_signal_to_noise()) {
    WriteFact("signal to noise", DecibelText(op.signal_to_noise()), html);
  }
  if (op.has_sensitivity())
    WriteFact("noise in the outputs, alone", NumberText(op.sensitivity()), html);
  WriteFact("elements that differ", DifferenceText(op), html);
  WriteFact("bytes", BytesOf(op), html);
  if (op.before().has_milliseconds() && op.after().has_milliseconds()) {
    WriteFact("expected time",
              absl::StrCat(MillisecondsText(op.before().milliseconds()), kArrow,
                           MillisecondsText(op.after().milliseconds())),
              html);
  }
  WriteNeighbours(run, "reads", {op.reads().begin(), op.reads().end()}, html);
  html->Close();
  const std::vector<Advice> advice = AdviceFor(*run.report, op);
  if (!advice.empty()) {
    html->Open("ul", {{"class", "advice"}});
    for (const Advice& one : advice) html->Element("li", one.text);
    html->Close();
  }
  if (op.values_size() > 0) {
    html->Open("div", {{"class", "values"}});
    for (const int value : op.values()) WriteValue(run.report->values(value), html);
    html->Close();
  }
  html->Close();
}

// What is not the same in two runs: "codes differ".
std::vector<std::string> DifferencesOf(const RunView& a, const Op& in_a, const RunView& b,
                                       const Op& in_b) {
  const auto codes = [](const RunView& run, const Op& op) {
    std::string text;
    for (const int value : op.values()) {
      absl::StrAppend(&text, SpecText(run.report->values(value).spec()), "\n");
    }
    return text;
  };
  const auto ranges = [](const RunView& run, const Op& op) {
    std::string text;
    for (const int value : op.values()) {
      const Value& of_op = run.report->values(value);
      absl::StrAppend(&text, RangeText(of_op.low(), of_op.high()), "\n");
    }
    return text;
  };
  std::vector<std::string> differences;
  if (StateOf(in_a) != StateOf(in_b) || in_a.reason() != in_b.reason() ||
      in_a.lowered() != in_b.lowered()) {
    differences.push_back("decision differs");
  }
  if (codes(a, in_a) != codes(b, in_b)) differences.push_back("codes differ");
  if (ranges(a, in_a) != ranges(b, in_b)) differences.push_back("ranges differ");
  return differences;
}

}  // namespace

void WriteLayerTable(const std::vector<RunView>& runs, const std::vector<Layer>& layers,
                     Html* html) {
  struct Shown {
    size_t run;
    Column column;
  };
  std::vector<Shown> shown;
  std::vector<std::vector<Column>> columns;
  for (const RunView& run : runs) columns.push_back(ColumnsOf(run));
  // The same column of both runs, side by side.
  for (size_t i = 0; i < columns[0].size(); ++i) {
    for (size_t run = 0; run < runs.size(); ++run) {
      const bool is_used = std::any_of(layers.begin(), layers.end(), [&](const Layer& layer) {
        const Op* op = OpOf(runs[run], layer.ops[run]);
        return op != nullptr && !columns[run][i].text(*op).empty();
      });
      if (is_used) shown.push_back({run, columns[run][i]});
    }
  }
  html->Open("div", {{"class", "scrolls"}});
  html->Open("table", {{"class", "layers"}, {"role", "table"}});
  html->Element("caption", "All layers, the worst first");
  html->Open("thead", {{"role", "rowgroup"}}).Open("tr", {{"role", "row"}});
  html->Element("th", "layer", {{"scope", "col"}, {"role", "columnheader"}});
  const auto state_title = [](const RunView& run) { return "state" + LetterOf(run); };
  for (const RunView& run : runs) {
    html->Element("th", state_title(run), {{"scope", "col"}, {"role", "columnheader"}});
  }
  for (const Shown& one : shown) {
    html->Element("th", one.column.title,
                  {{"scope", "col"}, {"role", "columnheader"}, {"class", "number"}});
  }
  html->Close().Close().Open("tbody", {{"role", "rowgroup"}});
  for (const Layer& layer : layers) {
    size_t first = 0;
    while (layer.ops[first] < 0) ++first;
    const Op& op = runs[first].report->ops(layer.ops[first]);
    const bool differs =
        runs.size() == 2 && layer.ops[0] >= 0 && layer.ops[1] >= 0 &&
        StateOf(runs[0].report->ops(layer.ops[0])) != StateOf(runs[1].report->ops(layer.ops[1]));
    html->Open("tr", {{"role", "row"}, {"class", differs ? "differs" : ""}});
    html->Open("th", {{"scope", "row"}, {"role", "rowheader"}});
    html->Open("a", {{"href", absl::StrCat("#", LayerId(runs[first], layer.ops[first]))}});
    html->Element("b", op.type()).Text(" ").Element("code", op.output()).Close().Close();
    for (size_t run = 0; run < runs.size(); ++run) {
      WriteState(state_title(runs[run]), OpOf(runs[run], layer.ops[run]), html);
    }
    for (const Shown& one : shown) {
      WriteCell(one.column, OpOf(runs[one.run], layer.ops[one.run]), html);
    }
    html->Close();
  }
  html->Close().Close().Close();
}

void WriteLayerCards(const std::vector<RunView>& runs, const std::vector<Layer>& layers,
                     Html* html) {
  for (const Layer& layer : layers) {
    size_t first = 0;
    while (layer.ops[first] < 0) ++first;
    const Op& op = runs[first].report->ops(layer.ops[first]);
    html->Open("details", {{"class", "layer"}}).Open("summary");
    html->Element("b", op.type()).Text(" ").Element("code", op.output());
    for (size_t run = 0; run < runs.size(); ++run) {
      const Op* of_run = OpOf(runs[run], layer.ops[run]);
      if (of_run == nullptr) continue;
      html->Text(" ");
      WriteBadge(*of_run, html);
      if (of_run->has_signal_to_noise()) {
        html->Text(" ").Element(
            "span", DecibelText(of_run->signal_to_noise()),
            {{"class", absl::StrCat("noise ", NoiseClass(of_run->signal_to_noise()))}});
      }
    }
    if (runs.size() == 2) {
      const Op* in_a = OpOf(runs[0], layer.ops[0]);
      const Op* in_b = OpOf(runs[1], layer.ops[1]);
      if (in_a == nullptr || in_b == nullptr) {
        html->Element("span", "in one run only", {{"class", "mark"}});
      } else {
        for (const std::string& what : DifferencesOf(runs[0], *in_a, runs[1], *in_b)) {
          html->Element("span", what, {{"class", "mark"}});
        }
      }
    }
    html->Close();
    html->Open("div", {{"class", runs.size() > 1 ? "beside" : ""}});
    for (size_t run = 0; run < runs.size(); ++run) {
      if (layer.ops[run] >= 0) WriteCard(runs[run], layer.ops[run], html);
    }
    html->Close().Close();
  }
}

}  // namespace fixpoint
