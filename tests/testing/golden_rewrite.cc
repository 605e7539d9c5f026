#include "tests/testing/golden_rewrite.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/backward.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/composites/composite_passes.h"
#include "transpiler/patterns/pattern_file.h"
#include "transpiler/patterns/rewrite.h"
#include "transpiler/report/rewrite_account.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

absl::StatusOr<RewriteReport> LoadAndRewrite(const Golden& golden, Program* program) {
  const std::string* const text = golden.Section("patterns");
  std::vector<Pattern> patterns;
  if (text != nullptr) {
    ASSIGN_OR_RETURN(patterns, ParsePatterns(*text, "patterns.txt"));
  } else if (!golden.Setting("patterns").empty()) {
    ASSIGN_OR_RETURN(patterns, LoadPatterns(golden.Setting("patterns")));
  }
  ASSIGN_OR_RETURN(PassTable passes, RewritePasses(patterns));
  RETURN_IF_ERROR(AddCompositePasses(&passes));
  RewriteOptions options;
  options.passes = &passes;
  options.explain = true;
  if (!golden.Setting("pipeline").empty()) options.pipeline = golden.Setting("pipeline");
  ASSIGN_OR_RETURN(RewriteReport report, Rewrite(program, patterns, options));
  Program again = program->Clone();
  ASSIGN_OR_RETURN(const RewriteReport nothing, Rewrite(&again, patterns, options));
  if (!nothing.replaced.empty()) return absl::InternalError("something was left to rewrite");
  return report;
}

}  // namespace

absl::StatusOr<Golden> RegenerateRewrite(const Golden& golden, absl::string_view name) {
  Golden made = golden;
  ASSIGN_OR_RETURN(Program program, ParseGoldenProgram(*golden.Section("program"), "program.txt"));
  if (!golden.Setting("loss").empty()) {
    RETURN_IF_ERROR(AppendBackward(&program, golden.Setting("loss")).status());
    program.ForgetEdits();
  }
  const std::string original = program.Proto().SerializeAsString();
  const absl::StatusOr<RewriteReport> report = LoadAndRewrite(golden, &program);
  if (!report.ok() && golden.Section("error") == nullptr) return report.status();
  const bool marks = golden.Setting("show") == "marks";
  for (auto& [section, text] : made.sections) {
    if (section == "error") {
      text = report.ok() ? "(no error)\n" : absl::StrCat(report.status().message(), "\n");
    } else if (section == "becomes") {
      text = PrintGoldenProgram(program, marks);
    } else if (section == "report") {
      text = absl::StrCat(RewriteExplainTable(*report), RewriteAccountTable(*report));
    } else if (section != "program" && section != "patterns") {
      return absl::InvalidArgumentError(absl::StrCat(name, ": unknown section ", section));
    }
  }
  if (program.Proto().has_edit_log()) RETURN_IF_ERROR(Untranspile(&program));
  if (program.Proto().SerializeAsString() != original) {
    return absl::InternalError(absl::StrCat(name, ": undo does not give the original back"));
  }
  return made;
}

}  // namespace fixpoint
