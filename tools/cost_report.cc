#include "tools/cost_report.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "ops/codes/integer_reasons.h"
#include "runtime/kernels/instruction_set.h"
#include "tools/form_cost.h"
#include "tools/integer_speed.h"
#include "tools/json.h"

namespace fixpoint {
namespace {

using executor::Bound;

absl::string_view BoundText(Bound bound) {
  switch (bound) {
    case Bound::kOperations:
      return "operations";
    case Bound::kMemory:
      return "memory";
    case Bound::kCache:
      return "cache";
    case Bound::kStart:
      return "start";
  }
  return "";
}

double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// A form with its title and cost.
struct Column {
  std::string title;
  int64_t parameter_bytes = 0;
  FormCost cost;
};

struct Columns {
  Column given;
  std::optional<Column> integers;
};

Columns MakeColumns(const CostReport& report) {
  const ProgramForms& forms = report.forms;
  Columns columns{{forms.quantized_by.empty() ? "float" : "as given", forms.given.parameter_bytes,
                   CostOf(forms.given.plan, report.speeds)},
                  std::nullopt};
  if (forms.integers) {
    columns.integers = Column{"integers", forms.integers->parameter_bytes,
                              CostOf(forms.integers->plan, report.speeds)};
  }
  return columns;
}

std::string BytesText(double bytes) { return absl::StrFormat("%.0f bytes", bytes); }

std::string PercentText(double part, double whole) {
  return absl::StrFormat("%.1f %%", Percent(part, whole));
}

struct Row {
  absl::string_view title;
  std::string (*text)(const Column& column);
};

constexpr Row kRows[] = {
    {"", [](const Column& column) { return column.title; }},
    {"parameters",
     [](const Column& column) { return BytesText(static_cast<double>(column.parameter_bytes)); }},
    {"constants", [](const Column& column) { return BytesText(column.cost.constant_bytes); }},
    {"activations, peak",
     [](const Column& column) { return BytesText(column.cost.activation_bytes); }},
    {"bytes moved", [](const Column& column) { return BytesText(column.cost.bytes); }},
    {"multiply-adds",
     [](const Column& column) { return absl::StrFormat("%.0f", column.cost.multiply_adds); }},
    {"  on integers",
     [](const Column& column) {
       return PercentText(column.cost.integer_multiply_adds, column.cost.multiply_adds);
     }},
    {"expected time",
     [](const Column& column) { return absl::StrFormat("%.4f ms", 1e3 * column.cost.seconds); }},
    {"  on integers",
     [](const Column& column) {
       return PercentText(column.cost.integer_seconds, column.cost.seconds);
     }},
};

void AppendColumns(const Columns& columns, std::string* out) {
  for (const Row& row : kRows) {
    absl::StrAppendFormat(out, "%-20s %18s", row.title, row.text(columns.given));
    if (columns.integers) absl::StrAppendFormat(out, " %18s", row.text(*columns.integers));
    *out += "\n";
  }
}

void AppendSteps(const Column& column, std::string* out) {
  absl::StrAppend(out, "\nsteps  multiply-adds         bytes  expected ms   share  bound by    ",
                  column.title, "\n");
  for (const StepsCost& steps : column.cost.steps) {
    absl::StrAppendFormat(out, "%5d  %13.0f  %12.0f  %11.4f  %5.1f%%  %-10s  %s\n", steps.count,
                          steps.multiply_adds, steps.bytes, 1e3 * steps.seconds,
                          Percent(steps.seconds, column.cost.seconds), BoundText(steps.bound),
                          steps.name);
  }
}

// What the user should know before quantizing a program for speed.
std::string Verdict(const CostReport& report, const Columns& columns) {
  const CodedProducts& products =
      (columns.integers ? *columns.integers : columns.given).cost.products;
  std::string text;
  if (columns.integers) {
    const double ratio = columns.integers->cost.seconds / columns.given.cost.seconds;
    text = absl::StrFormat("on integers it is expected to take %.2f of the time%s\n", ratio,
                           ratio >= 1 ? ": no faster than now" : "");
  } else if (products.all > 0) {
    text = absl::StrCat("on integers as given: ", report.forms.why_not, "\n");
  } else {
    return absl::StrCat("not on integers: ", report.forms.why_not, "\n");
  }
  if (!kernels::HasVnni()) {
    const bool is_of_pairs = kernels::BestProductSet() != kernels::ProductSet::kNone;
    absl::StrAppend(&text, "without VNNI codes are multiplied ",
                    is_of_pairs ? "in pairs" : "as floats", ": the results are the same bits\n");
  }
  if (products.slower_than_floats > 0) {
    absl::StrAppend(&text, "slower than in float: ", products.slower_than_floats, " of ",
                    products.all, " products of codes\n");
  }
  return text;
}

std::string FloatsText(const std::vector<FloatOp>& floats) {
  std::string text = floats.empty() ? "" : "\nstays in float:\n";
  for (const FloatOp& op : floats) {
    absl::StrAppend(&text, op.type, " -> ", op.output, ": ", IntegerReasonCode(op.reason));
    if (!op.not_quantized.empty()) absl::StrAppend(&text, " (", op.not_quantized, ")");
    absl::StrAppend(&text, ": ", IntegerReasonMeaning(op.reason), "\n");
  }
  return text;
}

// A double, so that no sum overflows.
int64_t Rounded(double count) { return static_cast<int64_t>(std::min(count, 9e18)); }

void WriteColumn(const Column& column, JsonWriter* json) {
  json->BeginObject();
  json->Key("parameter_bytes").Int(column.parameter_bytes);
  json->Key("constant_bytes").Int(Rounded(column.cost.constant_bytes));
  json->Key("activation_bytes").Int(Rounded(column.cost.activation_bytes));
  json->Key("bytes_moved").Int(Rounded(column.cost.bytes));
  json->Key("multiply_adds").Int(Rounded(column.cost.multiply_adds));
  json->Key("integer_multiply_adds").Int(Rounded(column.cost.integer_multiply_adds));
  json->Key("expected_ms").Double(1e3 * column.cost.seconds);
  json->Key("integer_expected_ms").Double(1e3 * column.cost.integer_seconds);
  json->Key("coded_products").Int(column.cost.products.all);
  json->Key("slower_than_floats").Int(column.cost.products.slower_than_floats);
  json->Key("counts_blocks_once").Bool(column.cost.runs_blocks);
  json->Key("steps").BeginArray();
  for (const StepsCost& steps : column.cost.steps) {
    json->BeginObject();
    json->Key("name").String(steps.name);
    json->Key("count").Int(steps.count);
    json->Key("multiply_adds").Int(Rounded(steps.multiply_adds));
    json->Key("bytes").Int(Rounded(steps.bytes));
    json->Key("expected_ms").Double(1e3 * steps.seconds);
    json->Key("bound_by").String(BoundText(steps.bound));
    json->EndObject();
  }
  json->EndArray().EndObject();
}

void WriteSpeeds(const kernels::KernelSpeeds& speeds, JsonWriter* json) {
  json->BeginObject();
  json->Key("instructions").String(InstructionsText());
  json->Key("float_operations_per_second").Double(speeds.float_operations);
  json->Key("integer_operations_per_second").Double(speeds.integer_operations);
  json->Key("wide_operations_per_second").Double(speeds.wide_operations);
  json->Key("bytes_per_second").Double(speeds.bytes);
  json->Key("cached_bytes_per_second").Double(speeds.cached_bytes);
  json->Key("start_ms").Double(1e3 * speeds.start);
  json->EndObject();
}

}  // namespace

std::string CostText(const CostReport& report) {
  const Columns columns = MakeColumns(report);
  const kernels::KernelSpeeds& speeds = report.speeds;
  std::string text = absl::StrFormat(
      "program  %s, batch size %d, one thread\n"
      "kernels  %s: %.0f GFLOP/s, %.0f GOP/s of 8 bits, %.0f of 16, memory %.1f GB/s, cache %.1f "
      "GB/s, a start %.2f us\n\n",
      report.program, report.batch_size, InstructionsText(), 1e-9 * speeds.float_operations,
      1e-9 * speeds.integer_operations, 1e-9 * speeds.wide_operations, 1e-9 * speeds.bytes,
      1e-9 * speeds.cached_bytes, 1e6 * speeds.start);
  if (!report.forms.quantized_by.empty()) {
    absl::StrAppend(&text, report.forms.quantized_by, "\n");
  }
  AppendColumns(columns, &text);
  text += Verdict(report, columns);
  if (columns.given.cost.runs_blocks) text += "blocks that ops run are counted once\n";
  AppendSteps(columns.given, &text);
  if (columns.integers) AppendSteps(*columns.integers, &text);
  return text + FloatsText(report.forms.floats);
}

std::string CostJson(const CostReport& report) {
  const Columns columns = MakeColumns(report);
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("program").String(report.program);
  json.Key("batch_size").Int(report.batch_size);
  json.Key("quantized_by").String(report.forms.quantized_by);
  json.Key("kernels");
  WriteSpeeds(report.speeds, &json);
  json.Key("given");
  WriteColumn(columns.given, &json);
  if (columns.integers) {
    json.Key("integers");
    WriteColumn(*columns.integers, &json);
  }
  json.Key("why_not_integers").String(report.forms.why_not);
  json.Key("floats").BeginArray();
  for (const FloatOp& op : report.forms.floats) {
    json.BeginObject();
    json.Key("type").String(op.type);
    json.Key("output").String(op.output);
    json.Key("reason").String(IntegerReasonCode(op.reason));
    json.Key("not_quantized").String(op.not_quantized);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace fixpoint
