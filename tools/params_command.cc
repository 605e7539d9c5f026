#include "tools/params_command.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/file/program_file.h"
#include "proto/program/type_names.h"
#include "proto/wire/program.pb.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "runtime/stored_tensors.h"
#include "runtime/tensor.h"
#include "runtime/tensor_summary.h"
#include "tools/json.h"
#include "tools/outputs.h"

namespace fixpoint {
namespace {

// What shows whether a tensor holds codes or numbers, and still fits on a line.
constexpr int64_t kFirstElements = 4;

constexpr char kNoNames[] =
    "a combined file holds no names; they come from the program that it was saved for: inspect "
    "params FILE PROGRAM";

struct TensorRow {
  std::string name;  // "" where nothing names it
  VarType::Type dtype;
  std::vector<int64_t> dims;
  int64_t bytes;
  TensorSummary summary;
};

struct ParamsReport {
  std::vector<TensorRow> rows;
  std::vector<FileLeftOut> left_out;

  bool has_names() const {
    return std::all_of(rows.begin(), rows.end(),
                       [](const TensorRow& row) { return !row.name.empty(); });
  }
  int64_t bytes() const {
    int64_t sum = 0;
    for (const TensorRow& row : rows) sum += row.bytes;
    return sum;
  }
};

TensorRow RowOf(absl::string_view name, const Tensor& tensor) {
  return {std::string(name), tensor.dtype(), tensor.dims(),
          static_cast<int64_t>(tensor.bytes().size()), Summarize(tensor, kFirstElements)};
}

absl::StatusOr<ParamsReport> ReadReport(const ParamsCommand& command) {
  ParamsReport report;
  if (command.program.empty()) {
    ASSIGN_OR_RETURN(
        report.left_out,
        VisitStoredTensors(command.params, [&report](absl::string_view name, const Tensor& tensor) {
          report.rows.push_back(RowOf(name, tensor));
        }));
    return report;
  }
  ASSIGN_OR_RETURN(const LoadedProgram loaded, LoadProgram(command.program));
  ASSIGN_OR_RETURN(const Scope scope, LoadParameters(*loaded.program, command.params));
  for (const auto& [name, value] : scope) {
    const auto* rows = std::get_if<SelectedRows>(&value);
    report.rows.push_back(RowOf(name, rows != nullptr ? rows->value : std::get<Tensor>(value)));
  }
  return report;
}

// "f32[8,4]"
std::string TypeOf(const TensorRow& row) {
  VarType::TensorDesc type;
  type.set_data_type(row.dtype);
  for (const int64_t dim : row.dims) type.add_dims(dim);
  return TensorTypeName(type);
}

std::string ElementsText(const TensorRow& row) {
  std::string text;
  for (const double element : row.summary.first) absl::StrAppendFormat(&text, " %.6g", element);
  const bool has_more = row.bytes > 0 && static_cast<size_t>(row.bytes) >
                                             row.summary.first.size() * ElementSize(row.dtype);
  if (has_more && !text.empty()) absl::StrAppend(&text, " ...");
  if (row.summary.not_finite > 0) {
    absl::StrAppend(&text, "  (", row.summary.not_finite, " not finite)");
  }
  return text;
}

std::string ReportText(const ParamsCommand& command, const ParamsReport& report) {
  struct Cells {
    std::string name;
    std::string type;
  };
  std::vector<Cells> cells;
  size_t name_width = 4;
  size_t type_width = 4;
  for (const TensorRow& row : report.rows) {
    cells.push_back(
        {row.name.empty() ? absl::StrCat("[", cells.size(), "]") : row.name, TypeOf(row)});
    name_width = std::max(name_width, cells.back().name.size());
    type_width = std::max(type_width, cells.back().type.size());
  }
  std::string text = absl::StrCat(command.params, ": ", report.rows.size(),
                                  report.rows.size() == 1 ? " tensor, " : " tensors, ",
                                  report.bytes(), " bytes\n");
  if (report.rows.empty()) return text;
  absl::StrAppendFormat(&text, "\n%-*s  %-*s  %12s  %12s  %12s  %s\n", name_width, "name",
                        type_width, "type", "smallest", "largest", "mean", "first elements");
  for (size_t i = 0; i < cells.size(); ++i) {
    const TensorRow& row = report.rows[i];
    absl::StrAppendFormat(&text, "%-*s  %-*s", name_width, cells[i].name, type_width,
                          cells[i].type);
    if (row.summary.range) {
      absl::StrAppendFormat(&text, "  %12.6g  %12.6g  %12.6g", row.summary.range->smallest,
                            row.summary.range->largest, row.summary.range->mean);
    } else {
      absl::StrAppendFormat(&text, "  %12s  %12s  %12s", "-", "-", "-");
    }
    absl::StrAppend(&text, " ", ElementsText(row), "\n");
  }
  return text;
}

std::string ReportJson(const ParamsCommand& command, const ParamsReport& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("file").String(command.params);
  json.Key("bytes").Int(report.bytes());
  json.Key("has_names").Bool(report.has_names());
  json.Key("tensors").BeginArray();
  for (const TensorRow& row : report.rows) {
    json.BeginObject();
    if (!row.name.empty()) json.Key("name").String(row.name);
    json.Key("type").String(TypeName(row.dtype));
    json.Key("shape").BeginArray();
    for (const int64_t dim : row.dims) json.Int(dim);
    json.EndArray();
    json.Key("bytes").Int(row.bytes);
    if (row.summary.range) {
      json.Key("smallest").Double(row.summary.range->smallest);
      json.Key("largest").Double(row.summary.range->largest);
      json.Key("mean").Double(row.summary.range->mean);
    }
    json.Key("not_finite").Int(row.summary.not_finite);
    json.Key("first_elements").BeginArray();
    for (const double element : row.summary.first) json.Double(element);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.Key("files_left_out").BeginArray();
  for (const FileLeftOut& file : report.left_out) json.String(file.name);
  json.EndArray();
  json.EndObject();
  return json.Take();
}

std::vector<std::string> NotesOf(const ParamsReport& report) {
  std::vector<std::string> notes;
  if (!report.has_names()) notes.push_back(kNoNames);
  for (const FileLeftOut& file : report.left_out) {
    notes.push_back(absl::StrCat(file.name, " is left out: ", file.why.message()));
  }
  return notes;
}

}  // namespace

absl::StatusOr<ExitCode> RunParamsCommand(const ParamsCommand& command) {
  RETURN_IF_ERROR(CheckStandardOutput());
  ASSIGN_OR_RETURN(const ParamsReport report, ReadReport(command));
  WriteNotes(command.params, NotesOf(report));
  RETURN_IF_ERROR(WriteStandardOutput(command.json ? ReportJson(command, report)
                                                   : ReportText(command, report)));
  return kDone;
}

}  // namespace fixpoint
