// Reports of runs as files, which anybody may have edited.

#ifndef FIXPOINT_TRANSPILER_REPORT_REPORT_FILE_H_
#define FIXPOINT_TRANSPILER_REPORT_REPORT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config/run_report.pb.h"

namespace fixpoint {

// Error (kInvalidArgument): "<ops or values>[i]: ..." for the first index or list that does not fit
// the others.
absl::Status CheckRunReport(const RunReport& report);

// What a report is called in the folder that a tool writes.
inline constexpr char kReportFile[] = "report.textproto";

// Reads a report that was written as text (PrintTextMessage), from a file or from kReportFile in a
// folder. Errors: those of LoadTextMessage and CheckRunReport, with the file's name.
absl::StatusOr<RunReport> LoadRunReport(const std::string& path);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_REPORT_FILE_H_
