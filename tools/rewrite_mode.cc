#include "tools/rewrite_mode.h"

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "tools/failing_program.h"
#include "tools/json.h"
#include "tools/named_program.h"
#include "tools/outputs.h"
#include "transpiler/report/rewrite_account.h"

namespace fixpoint {
namespace {

constexpr char kNothingChanged[] = "no pass changed anything\n";

// What patterns and other passes did, and where the result is.
std::string RewriteText(const RewriteReport& report, bool has_patterns, bool explain,
                        const std::string& written) {
  std::string account;
  if (has_patterns || !report.replaced.empty()) {
    account = RewriteAccountTable(report);
  } else if (!report.is_changed) {
    account = kNothingChanged;
  }
  return absl::StrCat(explain ? RewriteExplainTable(report) : "", account,
                      written.empty() ? "" : absl::StrCat("wrote ", written, "\n"));
}

std::string RewriteJson(const std::string& program, const RewriteReport& report,
                        const std::string& written) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("program").String(program);
  json.Key("output").String(written);
  json.Key("replaced").BeginArray();
  for (const ReplacedMatch& replaced : report.replaced) {
    json.BeginObject();
    json.Key("pattern").String(replaced.pattern);
    json.Key("op").String(replaced.op);
    json.Key("result").String(replaced.result);
    json.Key("ops_before").Int(replaced.ops_before);
    json.Key("ops_after").Int(replaced.ops_after);
    json.Key("gradient_ops_before").Int(replaced.gradient_ops_before);
    json.Key("gradient_ops_after").Int(replaced.gradient_ops_after);
    json.EndObject();
  }
  json.EndArray();
  json.Key("near_matches").BeginArray();
  for (const NearMatch& near : report.near_matches) {
    json.BeginObject();
    json.Key("pattern").String(near.pattern);
    json.Key("op").String(near.op);
    json.Key("reason").String(near.reason);
    json.Key("ops_found").Int(near.ops_found);
    json.Key("ops").Int(near.ops);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace

absl::StatusOr<ExitCode> RunRewriteCommand(const RewriteCommand& command,
                                           absl::Span<const Pattern> patterns,
                                           const RewriteOptions& options) {
  ASSIGN_OR_RETURN(NamedProgram read, LoadNamedProgram(command.program));
  Outputs outputs({command.program, command.patterns});
  const std::string output =
      command.output.empty() ? Beside(command.program, "rewritten") : command.output;
  RETURN_IF_ERROR(ClaimProgram(output, read.format, &outputs));
  const absl::StatusOr<RewriteReport> report = Rewrite(&read.program, patterns, options);
  if (!report.ok()) {
    if (command.dry_run) return report.status();
    RewriteOptions quiet = options;
    quiet.pipeline_options.after_pass = nullptr;
    return WithFailingProgram(
        report.status(), read.program.Proto(),
        [&](const ProgramDesc& candidate) -> absl::Status {
          ASSIGN_OR_RETURN(Program program, Program::Create(candidate, "candidate"));
          return Rewrite(&program, patterns, quiet).status();
        },
        output == "-" ? "rewrite" : output, &outputs);
  }
  std::string written;
  const bool is_written = !command.output.empty() || output == "-" || report->is_changed;
  if (!command.dry_run && is_written) {
    RETURN_IF_ERROR(StageProgram(read.program, read.format, output, &outputs));
    RETURN_IF_ERROR(outputs.Commit());
    written = output;
  } else if (!command.dry_run && !command.json) {
    WriteNotes(command.program, {kNotWrittenNote});
  }
  RETURN_IF_ERROR(
      WriteReport(command.json ? RewriteJson(command.program, *report, written)
                               : RewriteText(*report, !patterns.empty(), options.explain, written),
                  written == "-"));
  return kDone;
}

}  // namespace fixpoint
