#include "tools/staged_report.h"

#include <filesystem>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/file/input_file.h"
#include "proto/file/text_message.h"
#include "transpiler/report/page/page.h"
#include "transpiler/report/report_values.h"
#include "transpiler/report/run_report.h"

namespace fixpoint {

void AddProgram(const Program& program, const Scope& scope, const QuantizerTable& quantizers,
                RunReport* report) {
  AddOps(program, report);
  const absl::Status added = AddQuantizers(program, scope, quantizers, report);
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

std::string NameInReport(const DataSource& data) {
  if (const auto* images = std::get_if<ImagesPath>(&data)) {
    return absl::StrCat("images:", NameInReport(images->path));
  }
  if (const auto* npz = std::get_if<NpzFile>(&data)) {
    return absl::StrCat("npz:", NameInReport(npz->path));
  }
  if (const auto* npy = std::get_if<NpyFiles>(&data)) {
    return absl::StrCat(
        "npy:",
        absl::StrJoin(npy->names_and_paths, ",", [](std::string* out, const auto& name_and_path) {
          absl::StrAppend(out, name_and_path.first, "=", NameInReport(name_and_path.second));
        }));
  }
  const auto& set = std::get<DataSetName>(data);
  switch (set.kind) {
    case DataSetKind::kMnist:
      return "mnist";
    case DataSetKind::kCifar10:
      return "cifar10";
    case DataSetKind::kDigits:
      return absl::StrCat("digits:", set.count);
    case DataSetKind::kColorDigits:
      return absl::StrCat("color_digits:", set.count);
  }
  return "";
}

}  // namespace fixpoint
