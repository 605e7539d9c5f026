// The report of a run, or of two beside each other, as one HTML file for people. It needs nothing
// outside itself, works without scripts, and is the same for the same reports.

#ifndef FIXPOINT_TRANSPILER_REPORT_PAGE_PAGE_H_
#define FIXPOINT_TRANSPILER_REPORT_PAGE_PAGE_H_

#include <string>
#include <vector>

#include "proto/config/run_report.pb.h"

namespace fixpoint {

struct NamedReport {
  std::string name;  // to tell runs apart: of the file, or the folder
  RunReport report;
};

// One run or two. Any text of a report may be anything. Linear in the reports, but for sorting
// layers. REQUIRES: CheckRunReport passes each.
std::string ReportPage(const std::vector<NamedReport>& reports);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_PAGE_PAGE_H_
