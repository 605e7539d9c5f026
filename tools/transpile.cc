// transpile: a program in, the rewritten program out, and an account of what was done.

#include <gflags/gflags.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/input_file.h"
#include "proto/nearest_name.h"
#include "proto/program.h"
#include "proto/program_file.h"
#include "proto/program_text.h"
#include "proto/status_macros.h"
#include "proto/text_message.h"
#include "tools/command_line.h"
#include "tools/failing_program.h"
#include "tools/inference_modes.h"
#include "tools/mode_flags.h"
#include "tools/named_program.h"
#include "tools/outputs.h"
#include "tools/transpile_report.h"
#include "transpiler/pass.h"
#include "transpiler/pipeline.h"
#include "transpiler/plan_file.h"
#include "transpiler/quantize_transpiler.h"
#include "transpiler/target.h"

DEFINE_string(mode, "train",
              "train: quantize a program; test: make a test program from it; "
              "freeze: make the int8 program.");
DEFINE_string(config, "", "Configuration (proto/quant_config.proto as text).");
DEFINE_string(target, "",
              "Built-in target, or target file (whose path has a / or a .); overrides the "
              "configuration's.");
DEFINE_string(startup, "", "Startup program, rewritten too.");
DEFINE_string(output, "", "Where the program goes; beside the input by default; - for stdout.");
DEFINE_string(startup_output, "", "Where the startup program goes; beside the output by default.");
DEFINE_string(params, "",
              "Trained parameters to freeze the program with: a combined file or a folder.");
DEFINE_string(params_output, "",
              "Where the frozen parameters go, in the form they came in; beside them by default.");
DEFINE_string(feeds, "",
              "What the frozen program is fed, comma separated; by default what it is fed now.");
DEFINE_string(fetches, "",
              "What the frozen program computes, comma separated; by default what it fetches now.");
DEFINE_string(frozen_form, "portable",
              "portable: int8 weights and quantize_linear ops; legacy: codes as FP32 numbers, as "
              "the reference's freeze; legacy_int8: the same stored as int8.");
DEFINE_bool(allow_dynamic, false, "Let a frozen program find ranges of activations as it runs.");
DEFINE_string(plan, "", "Follow this plan instead of making one.");
DEFINE_string(save_plan, "", "Write the plan to this file.");
DEFINE_string(profile, "", "Ranges that quantizers begin with (RangeProfile as text).");
DEFINE_bool(dry_run, false, "Do everything but write programs and parameters.");
DEFINE_bool(explain, false, "Tell each op's decision, reason and rule.");
DEFINE_bool(json, false, "Print the report as JSON.");
DEFINE_bool(undo, false, "Give the program back as it was before.");
DEFINE_string(print_after, "", "Print the program after these passes (comma separated, or all).");
DEFINE_string(stop_after, "", "End after this pass.");
DEFINE_string(pass_pipeline, "", "The passes to run, comma separated.");

namespace fixpoint {
namespace {

std::vector<ModeFlags> Modes() {
  return {{"train",
           {"output", "dry_run", "json", "print_after", "stop_after", "config", "target", "plan",
            "profile", "startup", "startup_output", "save_plan", "explain", "pass_pipeline"}},
          {"test", {"output", "dry_run"}},
          {"freeze",
           {"output", "dry_run", "json", "print_after", "stop_after", "params", "params_output",
            "feeds", "fetches", "frozen_form", "allow_dynamic"}},
          {"undo", {"output", "dry_run"}}};
}

ToolHelp Help() {
  ToolHelp help;
  help.name = "transpile";
  help.purpose = "Rewrites a training program so that it trains as the integers will run.";
  help.usage = {"transpile PROGRAM [flags]           quantize, and write PROGRAM.quantized",
                "transpile --mode=test PROGRAM       write PROGRAM.test, for evaluation",
                "transpile --mode=freeze --params=FILE PROGRAM",
                "                                    write the int8 program and its parameters",
                "transpile --undo PROGRAM [flags]    give the original back"};
  help.flag_groups = {{"What to do:", {"mode", "undo"}}};
  for (FlagGroup& group : FlagGroupsOf(Modes())) help.flag_groups.push_back(std::move(group));
  help.examples = {"transpile examples/data/lenet.train.txt",
                   "transpile --target=onednn_int8 --explain --dry_run "
                   "examples/data/lenet.train.txt"};
  return help;
}

// A pass that a flag names.
absl::Status CheckPassName(absl::string_view flag, const std::string& name) {
  const PassTable passes;
  if (passes.Find(name) != nullptr) return absl::OkStatus();
  std::vector<std::string> names;
  for (const auto& pass : passes.all()) names.push_back(std::string(pass->name()));
  return UsageError(
      absl::StrCat("--", flag, "=", name, ": there is no such pass", DidYouMean(name, names)));
}

std::vector<std::string> SplitNames(const std::string& names) {
  std::vector<std::string> split = absl::StrSplit(names, ',', absl::SkipWhitespace());
  for (std::string& name : split) name = std::string(absl::StripAsciiWhitespace(name));
  return split;
}

absl::StatusOr<PipelineOptions> MakePipelineOptions() {
  PipelineOptions options;
  if (!FLAGS_stop_after.empty()) RETURN_IF_ERROR(CheckPassName("stop_after", FLAGS_stop_after));
  options.stop_after = FLAGS_stop_after;
  const std::vector<std::string> printed = SplitNames(FLAGS_print_after);
  if (printed.empty()) return options;
  for (const std::string& name : printed) {
    if (name != "all") RETURN_IF_ERROR(CheckPassName("print_after", name));
  }
  options.after_pass = [printed](const Pass& pass, Program& program, double) {
    for (const std::string& name : printed) {
      if (name != "all" && name != pass.name()) continue;
      std::cerr << "# after " << pass.name() << "\n" << PrintProgram(program.Proto());
      return;
    }
  };
  return options;
}

absl::StatusOr<TranspileOptions> MakeOptions() {
  TranspileOptions options;
  if (!FLAGS_config.empty()) {
    RETURN_IF_ERROR(LoadTextMessage(FLAGS_config, &options.config));
    options.names.config = InputName(FLAGS_config);
  }
  if (!FLAGS_target.empty()) {
    if (!IsTargetFile(FLAGS_target)) {
      const absl::Status status = BuiltInTarget(FLAGS_target).status();
      if (!status.ok()) return UsageError(absl::StrCat("--target: ", status.message()));
    }
    options.config.set_target(FLAGS_target);
  }
  if (!FLAGS_pass_pipeline.empty()) {
    const absl::Status status = ParseTrainPipeline(FLAGS_pass_pipeline, PassTable()).status();
    if (!status.ok()) return UsageError(absl::StrCat("--pass_pipeline: ", status.message()));
    options.pipeline = FLAGS_pass_pipeline;
  }
  ASSIGN_OR_RETURN(options.pipeline_options, MakePipelineOptions());
  return options;
}

absl::StatusOr<ExitCode> Undo(const std::string& path) {
  ASSIGN_OR_RETURN(NamedProgram loaded, LoadNamedProgram(path));
  RETURN_IF_ERROR(Untranspile(&loaded.program));
  const std::string output = FLAGS_output.empty() ? Beside(path, "original") : FLAGS_output;
  Outputs outputs({path});
  RETURN_IF_ERROR(ClaimProgram(output, loaded.format, &outputs));
  if (FLAGS_dry_run) return kDone;
  RETURN_IF_ERROR(StageProgram(loaded.program, loaded.format, output, &outputs));
  RETURN_IF_ERROR(outputs.Commit());
  if (output != "-") RETURN_IF_ERROR(WriteStandardOutput(absl::StrCat("wrote ", output, "\n")));
  return kDone;
}

// What a transpile of another program with the same options ends with; nothing is changed.
absl::Status TryTranspile(const ProgramDesc& candidate, TranspileOptions options) {
  ASSIGN_OR_RETURN(Program program, Program::Create(candidate, "candidate"));
  std::optional<Program> startup;
  if (options.startup != nullptr) {
    startup = options.startup->Clone();
    options.startup = &*startup;
  }
  options.pipeline_options.after_pass = nullptr;
  return Transpile(&program, options).status();
}

absl::StatusOr<ExitCode> Train(const std::string& path) {
  const std::vector<std::string> inputs = {path,       FLAGS_startup, FLAGS_config,
                                           FLAGS_plan, FLAGS_profile, FLAGS_target};
  RETURN_IF_ERROR(CheckInputs(inputs));
  ASSIGN_OR_RETURN(TranspileOptions options, MakeOptions());
  QuantPlan plan;
  if (!FLAGS_plan.empty()) {
    RETURN_IF_ERROR(LoadTextMessage(FLAGS_plan, &plan));
    options.plan = &plan;
    options.names.plan = InputName(FLAGS_plan);
  }
  RangeProfile profile;
  if (!FLAGS_profile.empty()) {
    RETURN_IF_ERROR(LoadTextMessage(FLAGS_profile, &profile));
    options.profile = &profile;
    options.names.profile = InputName(FLAGS_profile);
  }
  ASSIGN_OR_RETURN(NamedProgram loaded, LoadNamedProgram(path));
  NamedProgram& main = KeepUntilExit(std::move(loaded));
  std::optional<NamedProgram> startup;
  if (!FLAGS_startup.empty()) {
    ASSIGN_OR_RETURN(startup, LoadNamedProgram(FLAGS_startup));
    options.startup = &startup->program;
  }

  const std::string output = !FLAGS_output.empty() ? FLAGS_output
                             : path == "-"         ? "-"
                                                   : Beside(path, "quantized");
  Outputs outputs(inputs);
  RETURN_IF_ERROR(ClaimProgram(output, main.format, &outputs));
  std::string startup_output = FLAGS_startup_output;
  if (startup_output.empty()) {
    if (startup.has_value()) {
      startup_output = Beside(FLAGS_startup, "quantized");
    } else if (output != "-") {
      startup_output = Beside(output, "startup");
    }
  }
  if (!startup_output.empty()) {
    RETURN_IF_ERROR(ClaimProgram(startup_output,
                                 startup.has_value() ? startup->format : main.format, &outputs));
  }
  if (!FLAGS_save_plan.empty()) RETURN_IF_ERROR(outputs.Claim(FLAGS_save_plan));

  absl::StatusOr<TranspileResult>& transpiled = KeepUntilExit(Transpile(&main.program, options));
  if (!transpiled.ok()) {
    if (FLAGS_dry_run) return transpiled.status();
    return WithFailingProgram(
        transpiled.status(), main.program.Proto(),
        [&](const ProgramDesc& candidate) { return TryTranspile(candidate, options); },
        output == "-" ? "transpile" : output, &outputs);
  }
  TranspileResult& result = *transpiled;
  TranspileReport report;
  report.program = path;
  report.left_alone = result.left_alone;
  report.notes = result.notes;
  report.explain = FLAGS_explain;
  report.plan = std::move(result.plan);
  if (!FLAGS_save_plan.empty()) {
    RETURN_IF_ERROR(outputs.Stage(FLAGS_save_plan, PrintTextMessage(report.plan)));
  }
  const bool is_changed = main.program.Proto().has_edit_log() && result.left_alone.empty();
  if (!FLAGS_dry_run && result.left_alone.empty() && !is_changed && output != "-") {
    report.notes.push_back("nothing in the program was changed, and nothing is written");
  }
  // What stays as it is goes on through a pipe.
  if (!FLAGS_dry_run && (is_changed || output == "-")) {
    RETURN_IF_ERROR(StageProgram(main.program, main.format, output, &outputs));
    report.output = output;
  }
  if (!FLAGS_dry_run && result.left_alone.empty()) {
    const Program* changed_startup = startup.has_value()              ? &startup->program
                                     : result.new_startup.has_value() ? &*result.new_startup
                                                                      : nullptr;
    const bool has_state = changed_startup != nullptr && changed_startup->block(0).op_count() > 0;
    if (has_state && startup_output.empty()) {
      report.notes.push_back(absl::StrCat(
          "the startup program that initialises ", changed_startup->block(0).op_count(),
          " new variables is written nowhere; name a file with --startup_output"));
    } else if (has_state) {
      RETURN_IF_ERROR(StageProgram(*changed_startup,
                                   startup.has_value() ? startup->format : main.format,
                                   startup_output, &outputs));
      report.startup_output = startup_output;
    }
  }
  RETURN_IF_ERROR(outputs.Commit());
  const std::string text = FLAGS_json ? ReportJson(report) : ReportText(report);
  const bool is_report_alone = FLAGS_dry_run && FLAGS_save_plan != "-";
  if (outputs.to_standard_output() && !is_report_alone) {
    std::cerr << text;
  } else {
    RETURN_IF_ERROR(WriteStandardOutput(text));
  }
  return kDone;
}

absl::StatusOr<ExitCode> Freeze(const std::string& path) {
  FreezeCommand command;
  command.program = path;
  command.params = FLAGS_params;
  command.output = FLAGS_output;
  command.params_output = FLAGS_params_output;
  command.options.feeds = SplitNames(FLAGS_feeds);
  command.options.fetches = SplitNames(FLAGS_fetches);
  command.options.allow_dynamic = FLAGS_allow_dynamic;
  if (FLAGS_frozen_form == "legacy") {
    command.options.form = FrozenForm::kLegacy;
  } else if (FLAGS_frozen_form == "legacy_int8") {
    command.options.form = FrozenForm::kLegacyInt8;
  } else if (FLAGS_frozen_form != "portable") {
    return UsageError(absl::StrCat("--frozen_form=", FLAGS_frozen_form,
                                   "; there are portable, legacy and legacy_int8"));
  }
  ASSIGN_OR_RETURN(command.options.pipeline_options, MakePipelineOptions());
  command.dry_run = FLAGS_dry_run;
  command.json = FLAGS_json;
  return RunFreezeCommand(command);
}

absl::StatusOr<ExitCode> Run(const CommandLine& line) {
  if (line.arguments.size() != 1) {
    return UsageError(absl::StrCat("one program is wanted; ", line.arguments.size(), " are named"));
  }
  const std::string& path = line.arguments[0];
  if (FLAGS_mode != "train" && FLAGS_mode != "test" && FLAGS_mode != "freeze") {
    return UsageError(absl::StrCat("--mode=", FLAGS_mode, "; there are train, test and freeze"));
  }
  if (FLAGS_undo && std::count(line.flags.begin(), line.flags.end(), "mode") > 0) {
    return UsageError("--undo has no modes; leave --mode out");
  }
  const std::string mode = FLAGS_undo ? "undo" : FLAGS_mode;
  RETURN_IF_ERROR(CheckFlagsOfMode(mode, Modes(), line.flags));
  if (mode == "undo") return Undo(path);
  if (mode == "train") return Train(path);
  if (mode == "test") return RunTestCommand({path, FLAGS_output, FLAGS_dry_run});
  return Freeze(path);
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  return fixpoint::RunTool(argc, argv, fixpoint::Help(), fixpoint::Run);
}
