#include "tools/report_command.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"
#include "tools/outputs.h"
#include "transpiler/report/page/page.h"
#include "transpiler/report/report_file.h"

namespace fixpoint {
namespace {

// The folder that a tool wrote a report into, or the file: without what leads there.
std::string NameOf(const std::string& path) {
  std::filesystem::path named(InputName(path));
  if (!named.has_filename()) named = named.parent_path();
  if (named.filename() == kReportFile && named.has_parent_path()) named = named.parent_path();
  return named.filename().string();
}

}  // namespace

absl::StatusOr<ExitCode> RunReportCommand(const ReportCommand& command) {
  if (command.output.empty()) return UsageError("report: want an output: --output=FILE.html");
  RETURN_IF_ERROR(CheckInputs(command.reports));
  Outputs outputs(command.reports);
  RETURN_IF_ERROR(outputs.Claim(command.output));
  std::vector<NamedReport> reports;
  for (const std::string& path : command.reports) {
    ASSIGN_OR_RETURN(RunReport report, LoadRunReport(path));
    reports.push_back({NameOf(path), std::move(report)});
  }
  RETURN_IF_ERROR(outputs.Stage(command.output, ReportPage(reports)));
  RETURN_IF_ERROR(outputs.Commit());
  RETURN_IF_ERROR(
      WriteReport(absl::StrCat("wrote ", command.output, "\n"), outputs.to_standard_output()));
  return kDone;
}

}  // namespace fixpoint
