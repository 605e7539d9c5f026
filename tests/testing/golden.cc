#include "tests/testing/golden.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/base/status_macros.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tests/testing/golden_inference.h"
#include "tests/testing/golden_rewrite.h"
#include "tests/testing/open_ends.h"
#include "transpiler/report/account.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {

absl::StatusOr<Program> ParseGoldenProgram(const std::string& text, absl::string_view name) {
  ASSIGN_OR_RETURN(ProgramDesc desc, ParseProgramText(text, name));
  return Program::Create(std::move(desc), name);
}

std::string PrintGoldenProgram(const Program& program, bool marks) {
  ProgramDesc desc = program.Proto();
  desc.clear_edit_log();
  desc.clear_composites();
  for (BlockDesc& block : *desc.mutable_blocks()) {
    for (OpDesc& op : *block.mutable_ops()) {
      auto& attrs = *op.mutable_attrs();
      attrs.erase(std::remove_if(attrs.begin(), attrs.end(),
                                 [marks](const OpDesc::Attr& attr) {
                                   return !marks && (absl::StartsWith(attr.name(), "fixpoint.") ||
                                                     attr.name() == "quantization_type" ||
                                                     attr.name() == "with_quant_attr" ||
                                                     attr.name() == "activation_bits");
                                 }),
                  attrs.end());
    }
  }
  return PrintProgram(desc);
}

std::string Golden::Setting(absl::string_view name) const {
  for (const auto& [setting, value] : settings) {
    if (setting == name) return value;
  }
  return "";
}

const std::string* Golden::Section(absl::string_view name) const {
  for (const auto& [section, text] : sections) {
    if (section == name) return &text;
  }
  return nullptr;
}

absl::StatusOr<Golden> ParseGolden(absl::string_view text, absl::string_view name) {
  Golden golden;
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "---- ")) {
      golden.sections.emplace_back(std::string(rest), "");
    } else if (!golden.sections.empty()) {
      absl::StrAppend(&golden.sections.back().second, line, "\n");
    } else if (absl::StartsWith(line, "#")) {
      absl::StrAppend(&golden.comment, line, "\n");
    } else {
      const std::pair<std::string, std::string> setting =
          absl::StrSplit(line, absl::MaxSplits(": ", 1));
      if (setting.second.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(name, ": \"", line, "\" is no setting"));
      }
      golden.settings.push_back(setting);
    }
  }
  if (golden.comment.empty() || golden.Section("program") == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": a golden has a comment and a section program"));
  }
  return golden;
}

std::string PrintGolden(const Golden& golden) {
  std::string text = golden.comment;
  for (const auto& [name, value] : golden.settings) absl::StrAppend(&text, name, ": ", value, "\n");
  for (const auto& [name, section] : golden.sections) {
    absl::StrAppend(&text, "---- ", name, "\n", section);
  }
  return text;
}

absl::StatusOr<Golden> Regenerate(const Golden& golden, absl::string_view name) {
  if (golden.Setting("mode") == "rewrite") return RegenerateRewrite(golden, name);
  if (!golden.Setting("mode").empty()) return RegenerateInference(golden, name);
  Golden made = golden;
  ASSIGN_OR_RETURN(Program program, ParseGoldenProgram(*golden.Section("program"), "program.txt"));
  std::optional<Program> startup;
  if (const std::string* text = golden.Section("startup")) {
    ASSIGN_OR_RETURN(startup, ParseGoldenProgram(*text, "startup.txt"));
  }
  const std::string original = program.Proto().SerializeAsString();

  TranspileOptions options;
  RETURN_IF_ERROR(ParseTextMessage(golden.Setting("config"), name, &options.config));
  if (!golden.Setting("target").empty()) options.config.set_target(golden.Setting("target"));
  if (!golden.Setting("pipeline").empty()) options.pipeline = golden.Setting("pipeline");
  if (startup.has_value()) options.startup = &*startup;
  RangeProfile profile;
  if (!golden.Setting("profile").empty()) {
    RETURN_IF_ERROR(ParseTextMessage(golden.Setting("profile"), name, &profile));
    options.profile = &profile;
  }
  absl::StatusOr<TranspileResult> result = Transpile(&program, options);

  const bool marks = golden.Setting("show") == "marks";
  for (auto& [section, text] : made.sections) {
    if (section == "error") {
      text = result.ok() ? "(no error)\n"
                         : WithOpenEndsOf(text, absl::StrCat(result.status().message(), "\n"));
    } else if (section == "becomes") {
      text = PrintGoldenProgram(program, marks);
    } else if (section == "startup becomes") {
      text = PrintGoldenProgram(startup.has_value() ? *startup : *result->new_startup, marks);
    } else if (section == "account") {
      text = ExplainTable(result->plan);
    } else if (section == "left alone") {
      text = absl::StrCat(result->left_alone, "\n");
    } else if (section == "notes") {
      text = absl::StrCat(absl::StrJoin(result->notes, "\n"), "\n");
    } else if (section != "program" && section != "startup") {
      return absl::InvalidArgumentError(absl::StrCat(name, ": unknown section ", section));
    }
  }
  if (!result.ok() && golden.Section("error") == nullptr) return result.status();
  if (program.Proto().has_edit_log()) RETURN_IF_ERROR(Untranspile(&program));
  if (program.Proto().SerializeAsString() != original) {
    return absl::InternalError(absl::StrCat(name, ": undo does not give the original back"));
  }
  return made;
}

}  // namespace fixpoint
