// inspect: shows what a program holds, as counts, text or a graph; what is wrong with it; how it
// differs from another one; what its inference will cost; what its quantizers learned; and converts
// it to another form. Shows, merges and compares profiles of ranges. Shows what parameter files
// hold, and reports of runs. Converts tables to rows of codes.

#include <gflags/gflags.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "ops/verifier.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/diff/program_diff.h"
#include "proto/file/input_file.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "proto/text/program_dot.h"
#include "proto/text/program_text.h"
#include "tools/command_line.h"
#include "tools/convert_command.h"
#include "tools/cost_command.h"
#include "tools/diff_json.h"
#include "tools/json.h"
#include "tools/mode_flags.h"
#include "tools/network_ends.h"
#include "tools/params_command.h"
#include "tools/plugin_flags.h"
#include "tools/profile_command.h"
#include "tools/program_stats.h"
#include "tools/ranges_command.h"
#include "tools/report_command.h"
#include "tools/rows_command.h"
#include "tools/verify_json.h"
#include "transpiler/extensions/extensions.h"
#include "transpiler/train/found_rewrite.h"
#include "transpiler/train/invariants.h"

DEFINE_bool(json, false, "prints one JSON document instead of text");
DEFINE_bool(debug_attributes, true, "leaves out op_callstack, op_namescope and op_device");
DEFINE_bool(ignore_names, false, "compares temporaries by what writes them, not by name");
DEFINE_bool(strict, false, "compares every field: order, explicit defaults, ...");
DEFINE_string(startup, "", "the startup program, which has to initialize every persistable once");
DEFINE_bool(backward, true, "leaves out backward ops");
DEFINE_bool(optimizer, true, "leaves out optimizer ops");
DEFINE_int64(batch_size, 1, "the first extent of inputs where it is open");
DEFINE_string(data, "", "samples whose first batch gives the shapes, as infer takes them");
DEFINE_string(shapes, "", "extents of inputs: x=1x3x224x224; of sequences: words=5+7+3x1");
DEFINE_string(fetches, "", "outputs, comma separated; by default what it fetches, or the scores");
DEFINE_string(target, "", "target to quantize for; by default that of transpile");
DEFINE_string(config, "", "configuration to quantize by");
DEFINE_string(quantizers, "", "files of quantizers as text that the configuration can name");
DEFINE_string(output, "", "where to write what is made; a program is gzipped for .gz");
DEFINE_bool(merge, false, "writes one profile of all samples");
DEFINE_bool(diff, false, "compares two profiles; exits with 1 if anything is different");
DEFINE_int32(bits, 8, "of the codes that ranges are shown for");
DEFINE_string(params, "", "parameters of the program, a combined file or a folder");
DEFINE_string(format, "table", "table, json, nni, nni3, tensorrt, glow or paddle");
DEFINE_string(rows, "fused8", "fused8, glow_fused8, fused{8,4,2}_fp16 or paddle_dequant");
DEFINE_bool(decode, false, "makes floats of rows, instead of rows of floats");
DEFINE_string(to, "", "binary, text or protobuf_text; by default by the output's name");

namespace fixpoint {
namespace {

using Paths = std::vector<std::string>;

struct InputProgram {
  LoadedProgram file;  // without its program
  Program program;
};

absl::StatusOr<InputProgram> LoadInput(const std::string& path) {
  ASSIGN_OR_RETURN(LoadedProgram file, LoadProgram(path));
  ASSIGN_OR_RETURN(Program program, Program::Create(std::move(*file.program), InputName(path)));
  return InputProgram{std::move(file), std::move(program)};
}

absl::string_view FormatName(ProgramFormat format) {
  switch (format) {
    case ProgramFormat::kBinary:
      return "binary";
    case ProgramFormat::kText:
      return "text";
    case ProgramFormat::kProtobufText:
      return "protobuf text";
  }
  return "";
}

std::string FileText(const LoadedProgram& file) {
  return absl::StrCat(FormatName(file.format), file.gzipped ? ", gzipped" : "",
                      file.converted ? ", converted from the layout before February 2018" : "");
}

absl::StatusOr<ExitCode> Stats(const Paths& paths) {
  ASSIGN_OR_RETURN(const InputProgram input, LoadInput(paths[0]));
  const ProgramStats stats = CollectStats(input.program);
  if (!FLAGS_json) {
    RETURN_IF_ERROR(
        WriteStandardOutput(absl::StrCat("file        ", input.program.name(), "\nformat      ",
                                         FileText(input.file), "\n", PrintStats(stats))));
    return kDone;
  }
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("file").String(input.program.name());
  json.Key("format").String(FormatName(input.file.format));
  json.Key("gzipped").Bool(input.file.gzipped);
  json.Key("converted").Bool(input.file.converted);
  WriteStats(stats, &json);
  json.EndObject();
  RETURN_IF_ERROR(WriteStandardOutput(json.Take()));
  return kDone;
}

absl::StatusOr<ExitCode> Text(const Paths& paths) {
  ASSIGN_OR_RETURN(const LoadedProgram file, LoadProgram(paths[0]));
  ProgramTextOptions options;
  options.debug_attributes = FLAGS_debug_attributes;
  RETURN_IF_ERROR(WriteStandardOutput(PrintProgram(*file.program, options)));
  return kDone;
}

// The result of checking the invariants of a quantized program, whoever quantized it.
struct InvariantReport {
  bool is_checked = false;
  std::string why_not;  // why the invariants of a quantized program were not checked
  std::vector<Violation> violations;
};

InvariantReport CheckFoundRewrite(const Program& program, const QuantizerTable& quantizers,
                                  const Program* startup) {
  InvariantReport report;
  const absl::StatusOr<FoundRewrite> rewrite = FindRewrite(program, quantizers);
  if (!rewrite.ok()) {
    report.why_not = std::string(rewrite.status().message());
  } else if (!rewrite->ops.empty()) {
    report.is_checked = true;
    report.violations = CheckInvariants(program, *rewrite, startup);
  }
  return report;
}

std::string Counted(size_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

absl::StatusOr<ExitCode> Verify(const Paths& paths) {
  if (paths[0] == "-" && FLAGS_startup == "-") {
    return UsageError("verify: only one of the two programs can be standard input");
  }
  ASSIGN_OR_RETURN(const InputProgram input, LoadInput(paths[0]));
  VerifyOptions options;
  std::optional<InputProgram> startup;
  if (!FLAGS_startup.empty()) {
    ASSIGN_OR_RETURN(startup, LoadInput(FLAGS_startup));
    options.startup = &startup->program;
  }
  const std::vector<Finding> findings = fixpoint::Verify(input.program, options);
  // Reports once what the startup program lacks.
  const bool is_initialized = std::none_of(
      findings.begin(), findings.end(),
      [](const Finding& finding) { return finding.code == FindingCode::kUninitialized; });
  Extensions extensions;
  RETURN_IF_ERROR(LoadPlugins(&extensions));
  const InvariantReport report = CheckFoundRewrite(input.program, extensions.Quantizers(),
                                                   is_initialized ? options.startup : nullptr);
  const ExitCode code = HasErrors(findings) || !report.violations.empty() ? kAnswerIsNo : kDone;
  if (!FLAGS_json) {
    std::string text = FindingsText(input.program, findings);
    for (const Violation& violation : report.violations) {
      absl::StrAppend(&text, "error: ", input.program.name(), ": invariant ", violation.invariant,
                      ": ", violation.message, "\n");
    }
    if (!report.why_not.empty()) {
      absl::StrAppend(&text, "note: ", input.program.name(), ": the invariants of quantized ",
                      "programs are not checked: ", report.why_not, "\n");
    }
    absl::StrAppend(&text, input.program.name(), code == kDone ? ": verified, " : ": not valid, ",
                    Counted(findings.size(), "finding"));
    if (report.is_checked) {
      absl::StrAppend(&text, ", ", Counted(report.violations.size(), "violation"),
                      " of the invariants of quantized programs");
    }
    RETURN_IF_ERROR(WriteStandardOutput(absl::StrCat(text, "\n")));
    return code;
  }
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("file").String(input.program.name());
  json.Key("valid").Bool(code == kDone);
  WriteFindings(input.program, findings, &json);
  json.Key("invariants_checked").Bool(report.is_checked);
  json.Key("violations").BeginArray();
  for (const Violation& violation : report.violations) {
    json.BeginObject();
    json.Key("invariant").Int(violation.invariant);
    json.Key("message").String(violation.message);
    json.EndObject();
  }
  json.EndArray().EndObject();
  RETURN_IF_ERROR(WriteStandardOutput(json.Take()));
  return code;
}

absl::StatusOr<ExitCode> Diff(const Paths& paths) {
  if (paths[0] == "-" && paths[1] == "-") {
    return UsageError("diff: only one of the two programs can be standard input");
  }
  ASSIGN_OR_RETURN(const InputProgram a, LoadInput(paths[0]));
  ASSIGN_OR_RETURN(const InputProgram b, LoadInput(paths[1]));
  DiffOptions options;
  options.ignore_temporary_names = FLAGS_ignore_names;
  options.ignore_debug_attributes = !FLAGS_debug_attributes;
  options.strict = FLAGS_strict;
  const ProgramDiff diff = DiffPrograms(a.program, b.program, options);
  const ExitCode code = diff.differences.empty() ? kDone : kAnswerIsNo;
  if (!FLAGS_json) {
    const std::string heading =
        absl::StrCat("--- ", a.program.name(), "\n+++ ", b.program.name(), "\n");
    RETURN_IF_ERROR(
        WriteStandardOutput(code == kDone ? "" : absl::StrCat(heading, PrintDiff(diff))));
    return code;
  }
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("a").String(a.program.name());
  json.Key("b").String(b.program.name());
  WriteDiff(diff, &json);
  json.EndObject();
  RETURN_IF_ERROR(WriteStandardOutput(json.Take()));
  return code;
}

absl::StatusOr<ExitCode> Dot(const Paths& paths) {
  ASSIGN_OR_RETURN(const InputProgram input, LoadInput(paths[0]));
  DotOptions options;
  options.backward_ops = FLAGS_backward;
  options.optimizer_ops = FLAGS_optimizer;
  RETURN_IF_ERROR(WriteStandardOutput(PrintDot(input.program, options)));
  return kDone;
}

absl::StatusOr<ExitCode> Cost(const Paths& paths) {
  RETURN_IF_ERROR(CheckAtLeast("batch_size", FLAGS_batch_size, 1));
  CostCommand command;
  command.program = paths[0];
  command.config = FLAGS_config;
  command.target = FLAGS_target;
  command.quantizers = FLAGS_quantizers;
  command.batch_size = FLAGS_batch_size;
  ASSIGN_OR_RETURN(command.shapes, ParseShapes(FLAGS_shapes));
  if (!FLAGS_data.empty()) {
    if (!command.shapes.empty()) {
      return UsageError("--shapes and --data: both give extents of inputs; want one of them");
    }
    ASSIGN_OR_RETURN(command.data, DataOfFlag("data", FLAGS_data));
  }
  command.fetches = SplitNames(FLAGS_fetches);
  command.json = FLAGS_json;
  Extensions extensions;
  RETURN_IF_ERROR(LoadPlugins(&extensions));
  command.extensions = &extensions;
  return RunCostCommand(command);
}

absl::StatusOr<ExitCode> Convert(const Paths& paths) {
  return RunConvertCommand({paths[0], FLAGS_output, FLAGS_to});
}

absl::StatusOr<ExitCode> Profile(const Paths& paths) {
  return RunProfileCommand({paths, FLAGS_merge, FLAGS_diff, FLAGS_output, FLAGS_bits, FLAGS_json});
}

// Of a subcommand that checks itself how many files it takes.
constexpr size_t kAnyCount = std::numeric_limits<size_t>::max();

absl::StatusOr<ExitCode> Params(const Paths& paths) {
  return RunParamsCommand({paths[0], paths.size() == 2 ? paths[1] : "", FLAGS_json});
}

absl::StatusOr<ExitCode> Ranges(const Paths& paths) {
  Extensions extensions;
  RETURN_IF_ERROR(LoadPlugins(&extensions));
  const QuantizerTable quantizers = extensions.Quantizers();
  return RunRangesCommand({paths[0], FLAGS_params, FLAGS_format, FLAGS_output, &quantizers});
}

absl::StatusOr<ExitCode> Rows(const Paths& paths) {
  return RunRowsCommand({paths[0], FLAGS_rows, FLAGS_decode, FLAGS_output});
}

absl::StatusOr<ExitCode> Report(const Paths& paths) {
  return RunReportCommand({paths, FLAGS_output});
}

struct Subcommand {
  std::string name;
  std::string arguments;
  std::string purpose;
  size_t least_paths;
  size_t most_paths;
  std::vector<std::string> flags;
  absl::StatusOr<ExitCode> (*run)(const Paths& paths);
};

std::vector<Subcommand> Subcommands() {
  return {
      {"stats", "PROGRAM", "counts of what it holds", 1, 1, {"json"}, &Stats},
      {"text", "PROGRAM", "the program, an op a line", 1, 1, {"debug_attributes"}, &Text},
      {"verify",
       "PROGRAM",
       "what is wrong with it; exits with 1 if it has errors",
       1,
       1,
       {"startup", "json", kPluginFlag},
       &Verify},
      {"diff",
       "A B",
       "what is different; exits with 1 if anything is",
       2,
       2,
       {"ignore_names", "strict", "debug_attributes", "json"},
       &Diff},
      {"dot", "PROGRAM", "a graph for Graphviz", 1, 1, {"backward", "optimizer"}, &Dot},
      {"convert", "PROGRAM", "the same program in another form", 1, 1, {"output", "to"}, &Convert},
      {"cost",
       "PROGRAM",
       "what its inference will take, in float and on integers",
       1,
       1,
       {"batch_size", "data", "shapes", "fetches", "target", "config", "quantizers", "json",
        kPluginFlag},
       &Cost},
      {"profile",
       "FILE...",
       "ranges and what they clip; merged or compared",
       0,
       kAnyCount,
       {"bits", "merge", "diff", "output", "json"},
       &Profile},
      {"params",
       "FILE [PROGRAM]",
       "what a parameter file or a folder of them holds",
       1,
       2,
       {"json"},
       &Params},
      {"ranges",
       "PROGRAM",
       "the ranges that its quantizers learned, also for other tools",
       1,
       1,
       {"params", "format", "output", kPluginFlag},
       &Ranges},
      {"rows",
       "TABLE.npy",
       "a table as rows of codes, each with its range, or back",
       1,
       1,
       {"rows", "decode", "output"},
       &Rows},
      {"report",
       "RUN [RUN]",
       "what a run found, or two, as a page for a browser",
       1,
       2,
       {"output"},
       &Report},
  };
}

std::vector<ModeFlags> Modes() {
  std::vector<ModeFlags> modes;
  for (const Subcommand& subcommand : Subcommands()) {
    modes.push_back({subcommand.name, subcommand.flags});
  }
  return modes;
}

ToolHelp Help() {
  ToolHelp help;
  help.name = "inspect";
  help.purpose = "Shows what a program holds. A program is a file in any form, or - for stdin.";
  for (const Subcommand& subcommand : Subcommands()) {
    const std::string command =
        absl::StrCat("inspect ", subcommand.name, " ", subcommand.arguments);
    help.usage.push_back(
        absl::StrCat(command, std::string(30 - command.size(), ' '), " ", subcommand.purpose));
  }
  help.flag_groups = FlagGroupsOf(Modes());
  help.repeatable = {kPluginFlag};
  return help;
}

absl::StatusOr<ExitCode> Run(const CommandLine& line) {
  const std::vector<Subcommand> subcommands = Subcommands();
  std::vector<std::string> names;
  for (const Subcommand& subcommand : subcommands) names.push_back(subcommand.name);
  if (line.arguments.empty()) {
    const auto last = std::prev(names.end());
    return UsageError(absl::StrCat(
        "a subcommand is missing: ", absl::StrJoin(names.begin(), last, ", "), " or ", *last));
  }
  const std::string& name = line.arguments[0];
  const auto chosen =
      std::find_if(subcommands.begin(), subcommands.end(),
                   [&name](const Subcommand& subcommand) { return subcommand.name == name; });
  if (chosen == subcommands.end()) {
    return UsageError(absl::StrCat("unknown subcommand ", name, DidYouMean(name, names)));
  }
  RETURN_IF_ERROR(CheckFlagsOfMode(name, Modes(), line.flags));
  const Paths paths(line.arguments.begin() + 1, line.arguments.end());
  if (paths.size() < chosen->least_paths || paths.size() > chosen->most_paths) {
    return UsageError(absl::StrCat(name, " takes ", chosen->arguments, ", and was given ",
                                   paths.size(), paths.size() == 1 ? " file" : " files"));
  }
  return chosen->run(paths);
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  return fixpoint::RunTool(argc, argv, fixpoint::Help(), &fixpoint::Run);
}
