// `inspect report`: the reports of one run, or of two beside each other, as a page.

#ifndef FIXPOINT_TOOLS_REPORT_COMMAND_H_
#define FIXPOINT_TOOLS_REPORT_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/command_line.h"

namespace fixpoint {

struct ReportCommand {
  std::vector<std::string> reports;  // files, or folders that a tool wrote
  std::string output;                // an .html file, or "-"
};

// Errors: those of LoadRunReport; a usage error without an output, or if that is a report.
absl::StatusOr<ExitCode> RunReportCommand(const ReportCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_REPORT_COMMAND_H_
