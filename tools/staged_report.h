// What `--report` of the tools has in common: facts of programs, and where they are written.

#ifndef FIXPOINT_TOOLS_STAGED_REPORT_H_
#define FIXPOINT_TOOLS_STAGED_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "ops/quantizer_table.h"
#include "proto/config/run_report.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/data/data_source.h"
#include "runtime/scope.h"
#include "tools/outputs.h"

namespace fixpoint {

// The ops of a program in test mode, the values that it quantizes, and its weights. Where the
// quantizers are not those of a program in test mode, a note says so.
void AddProgram(const Program& program, const Scope& scope, const QuantizerTable& quantizers,
                RunReport* report);

void AddSetting(const std::string& name, const std::string& value, RunReport* report);

// Stages a report: as text for `inspect report` if the path ends in .textproto, else as a page.
absl::Status StageReport(const RunReport& report, const std::string& path, Outputs* outputs);

// A file's name as a report shows it: without the folders, which are those of one machine.
std::string NameInReport(const std::string& path);

// The same of data: "cifar10", "digits:500", "npy:x=x.npy,y=y.npy".
std::string NameInReport(const DataSource& data);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_STAGED_REPORT_H_
