#include "tools/staged_report.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/quantizer_table.h"
#include "proto/file/input_file.h"
#include "proto/file/text_message.h"
#include "transpiler/report/page/page.h"
#include "transpiler/report/report_values.h"
#include "transpiler/report/run_report.h"

namespace fixpoint {

void AddProgram(const Program& program, const Scope& scope, RunReport* report) {
  AddOps(program, report);
  const absl::Status added = AddQuantizers(program, scope, QuantizerTable(), report);
  if (!added.ok()) {
    report->add_notes(absl::StrCat("The quantizers are not shown: ", added.message()));
  }
  AddWeights(scope, report);
}

void AddSetting(const std::string& name, const std::string& value, RunReport* report) {
  RunReport::Setting& setting = *report->add_settings();
  setting.set_name(name);
  setting.set_value(value);
}

absl::Status StageReport(const RunReport& report, const std::string& path, Outputs* outputs) {
  return outputs->Stage(path, absl::EndsWith(path, ".textproto")
                                  ? PrintTextMessage(report)
                                  : ReportPage({{NameInReport(path), report}}));
}

std::string NameInReport(const std::string& path) {
  return std::filesystem::path(InputName(path)).filename().string();
}

}  // namespace fixpoint
