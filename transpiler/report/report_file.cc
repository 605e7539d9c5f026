#include "transpiler/report/report_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"
#include "proto/file/text_message.h"

namespace fixpoint {
namespace {

absl::Status Wrong(absl::string_view list, int index, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(list, "[", index, "]: ", what));
}

absl::Status CheckOp(const RunReport& report, int index) {
  const RunReport::Op& op = report.ops(index);
  for (const int read : op.reads()) {
    if (read < 0 || read >= index) {
      return Wrong("ops", index, absl::StrCat("reads op ", read, "; want one before it"));
    }
  }
  for (const int value : op.values()) {
    if (value < 0 || value >= report.values_size()) {
      return Wrong("ops", index,
                   absl::StrCat("value ", value, "; the report has ", report.values_size()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckValue(const RunReport& report, int index) {
  const RunReport::Histogram& histogram = report.values(index).histogram();
  const auto& edges = histogram.edges();
  const auto& counts = histogram.counts();
  const bool is_empty = edges.empty() && counts.empty();
  if (!is_empty && edges.size() != counts.size() + 1) {
    return Wrong("values", index,
                 absl::StrCat("histogram of ", counts.size(), " counts and ", edges.size(),
                              " edges; want one edge more than counts"));
  }
  if (!std::all_of(edges.begin(), edges.end(), [](float edge) { return std::isfinite(edge); })) {
    return Wrong("values", index, "an edge of the histogram is not finite");
  }
  if (!std::is_sorted(edges.begin(), edges.end())) {
    return Wrong("values", index, "the edges of the histogram do not ascend");
  }
  if (std::any_of(counts.begin(), counts.end(), [](auto count) { return count < 0; })) {
    return Wrong("values", index, "the histogram has a negative count");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRunReport(const RunReport& report) {
  for (int i = 0; i < report.ops_size(); ++i) RETURN_IF_ERROR(CheckOp(report, i));
  for (int i = 0; i < report.values_size(); ++i) RETURN_IF_ERROR(CheckValue(report, i));
  for (int i = 0; i < report.curves_size(); ++i) {
    const RunReport::Curve& curve = report.curves(i);
    if (curve.steps_size() != curve.values_size()) {
      return Wrong("curves", i,
                   absl::StrCat(curve.steps_size(), " steps and ", curve.values_size(),
                                " values; want as many"));
    }
    if (!std::is_sorted(curve.steps().begin(), curve.steps().end())) {
      return Wrong("curves", i, "the steps do not ascend");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RunReport> LoadRunReport(const std::string& path) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  const std::string file = is_folder ? absl::StrCat(path, "/", kReportFile) : path;
  RunReport report;
  RETURN_IF_ERROR(LoadTextMessage(file, &report));
  const absl::Status fits = CheckRunReport(report);
  if (!fits.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(InputName(file), ": ", fits.message()));
  }
  return report;
}

}  // namespace fixpoint
