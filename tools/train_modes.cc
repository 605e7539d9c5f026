#include "tools/train_modes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/range_profile.pb.h"
#include "proto/file/input_file.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "runtime/parameter_file.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "tools/failing_program.h"
#include "tools/named_config.h"
#include "tools/named_parameters.h"
#include "tools/named_program.h"
#include "tools/named_quantizers.h"
#include "tools/outputs.h"
#include "tools/transpile_report.h"
#include "transpiler/exchange/range_file.h"
#include "transpiler/extensions/extensions.h"
#include "transpiler/plan/rules.h"
#include "transpiler/report/ops_left_out.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/weights/clip_weights.h"

namespace fixpoint {
namespace {

// What the command reads. `options` points into the rest of it.
struct TrainInputs {
  NamedQuantizers quantizers;
  QuantPlan plan;
  RangeProfile profile;
  std::optional<NamedProgram> program;
  std::optional<NamedProgram> startup;
  std::optional<Scope> parameters;
  TranspileOptions options;

  ProgramFormat StartupFormat() const { return (startup ? startup : program)->format; }
};

// The quantizer that --fc_weights selects for the weights of fully connected layers.
absl::StatusOr<std::string> QuantizerOfFcWeights(const std::string& granularity) {
  if (granularity == "per_tensor") return "abs_max";
  if (granularity == "per_channel") return "channel_wise_abs_max";
  if (granularity == "per_row") return "row_wise_min_max";
  return UsageError(absl::StrCat("--fc_weights=", granularity,
                                 "; there are per_tensor, per_channel and per_row"));
}

absl::Status ReadConfig(const TrainCommand& command, TranspileOptions& options) {
  ASSIGN_OR_RETURN(NamedConfig named, LoadNamedConfig(command.config, command.target));
  options.config = std::move(named.config);
  options.names.config = named.name;
  if (!command.fc_weights.empty()) {
    QuantSpec weights;
    ASSIGN_OR_RETURN(*weights.mutable_quantizer(), QuantizerOfFcWeights(command.fc_weights));
    MergeSpec(weights, options.config.mutable_fc_weights());
  }
  if (!command.pipeline.empty()) options.pipeline = command.pipeline;
  options.passes = command.passes;
  options.pipeline_options = command.pipeline_options;
  return absl::OkStatus();
}

absl::Status ReadInputs(const TrainCommand& command, TrainInputs& inputs) {
  RETURN_IF_ERROR(ReadConfig(command, inputs.options));
  ASSIGN_OR_RETURN(inputs.quantizers,
                   LoadQuantizers(command.quantizers, command.extensions->Quantizers()));
  inputs.options.quantizers = &inputs.quantizers.table;
  inputs.options.checks = &command.extensions->checks();
  if (!command.plan.empty()) {
    RETURN_IF_ERROR(LoadTextMessage(command.plan, &inputs.plan));
    inputs.options.plan = &inputs.plan;
    inputs.options.names.plan = InputName(command.plan);
  }
  ASSIGN_OR_RETURN(inputs.program, LoadNamedProgram(command.program));
  if (!command.profile.empty()) {
    ASSIGN_OR_RETURN(inputs.profile, LoadRanges(command.profile, &inputs.program->program));
    inputs.options.profile = &inputs.profile;
    inputs.options.names.profile = InputName(command.profile);
  }
  if (!command.startup.empty()) {
    ASSIGN_OR_RETURN(inputs.startup, LoadNamedProgram(command.startup));
    inputs.options.startup = &inputs.startup->program;
  }
  if (!command.params.empty()) {
    ASSIGN_OR_RETURN(inputs.parameters,
                     LoadParameters(inputs.program->program.Proto(), command.params));
    inputs.options.starts_from_parameters = true;
  }
  return absl::OkStatus();
}

// Where to write a program.
struct Destination {
  std::string path;  // "" for a startup program that is not written
  bool is_named =
      false;  // by the command line or as a pipe: then even an unchanged program is written
};

struct Destinations {
  Destination output;
  Destination startup_output;
  std::string params_output;  // "": new values are left to a startup program
};

// `named`: "" if the command line leaves it to `otherwise`.
Destination DestinationOf(const std::string& named, const std::string& otherwise) {
  const std::string& path = named.empty() ? otherwise : named;
  return {path, !named.empty() || path == "-"};
}

absl::StatusOr<Destinations> ClaimOutputs(const TrainCommand& command, const TrainInputs& inputs,
                                          Outputs& outputs) {
  Destinations to;
  to.output = DestinationOf(command.output, Beside(command.program, "quantized"));
  RETURN_IF_ERROR(ClaimProgram(to.output.path, inputs.program->format, &outputs));
  if (inputs.parameters) {
    to.params_output = command.params_output.empty() ? ParamsBeside(command.params, "quantized")
                                                     : command.params_output;
    RETURN_IF_ERROR(outputs.Claim(to.params_output));
  }
  std::string beside;
  if (inputs.startup.has_value()) {
    beside = Beside(command.startup, "quantized");
  } else if (to.output.path != "-" && !inputs.parameters) {
    beside = Beside(to.output.path, "startup");
  }
  to.startup_output = DestinationOf(command.startup_output, beside);
  if (!to.startup_output.path.empty()) {
    RETURN_IF_ERROR(ClaimProgram(to.startup_output.path, inputs.StartupFormat(), &outputs));
  }
  if (!command.save_plan.empty()) RETURN_IF_ERROR(outputs.Claim(command.save_plan));
  return to;
}

// The status of transpiling another program with the same options; nothing is changed.
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

bool IsWritten(const Program& program, const TranspileReport& report, const Destination& to) {
  return (program.Proto().has_edit_log() && report.left_alone.empty()) || to.is_named;
}

// Stages the rewritten program, and notes it in the report.
absl::Status StageQuantized(const TrainInputs& inputs, const Destination& to, Outputs& outputs,
                            TranspileReport& report) {
  const Program& program = inputs.program->program;
  if (IsWritten(program, report, to)) {
    RETURN_IF_ERROR(StageProgram(program, inputs.program->format, to.path, &outputs));
    report.output = to.path;
  } else if (report.left_alone.empty()) {
    report.notes.push_back(kNotWrittenNote);
  }
  return absl::OkStatus();
}

// The same for the startup program: the given one, or a new one, which is written if it initialises
// anything or is named.
absl::Status StageStartup(const TrainInputs& inputs, const std::optional<Program>& made,
                          const Destination& to, Outputs& outputs, TranspileReport& report) {
  const Program empty;
  const Program& startup = inputs.startup ? inputs.startup->program : made ? *made : empty;
  if (!IsWritten(startup, report, to)) return absl::OkStatus();
  if (to.path.empty()) {
    report.notes.push_back(
        absl::StrCat("the startup program that initialises ", startup.block(0).op_count(),
                     " new variables is written nowhere; name a file with --startup_output"));
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(StageProgram(startup, inputs.StartupFormat(), to.path, &outputs));
  report.startup_output = to.path;
  return absl::OkStatus();
}

// Adds what the new startup program initialises to the parameters, clips weights whose range a rule
// chooses, and stages them.
absl::Status StageParametersWithState(const TrainCommand& command, const Program& startup,
                                      const std::string& path, Outputs& outputs,
                                      TrainInputs& inputs, TranspileReport& report) {
  ASSIGN_OR_RETURN(reference::Interpreter interpreter,
                   reference::Interpreter::Create(startup, &*inputs.parameters));
  RETURN_IF_ERROR(interpreter.Run({}, {}, /*step=*/0).status());
  if (report.plan.is_inference()) {
    ASSIGN_OR_RETURN(const std::vector<ClippedWeight> clipped,
                     ClipWeights(inputs.program->program, report.plan, inputs.quantizers.table,
                                 &*inputs.parameters));
    for (std::string& note : NotesOnClipping(clipped)) report.notes.push_back(std::move(note));
  }
  RETURN_IF_ERROR(StageParameters(inputs.program->program.Proto(), *inputs.parameters,
                                  command.params, path, &outputs));
  report.params_output = path;
  return absl::OkStatus();
}

// A usage error if --params and --startup, or their outputs, do not go together.
absl::Status CheckParametersFlags(const TrainCommand& command) {
  if (!command.params.empty() && !command.startup.empty()) {
    return UsageError(
        "--params and --startup: one of them at a time; new variables are initialised in the "
        "parameters or by the startup program");
  }
  if (!command.params_output.empty() && command.params.empty()) {
    return UsageError("--params_output needs the parameters: --params=FILE or --params=FOLDER");
  }
  if (command.params_output == "-") {
    return UsageError(
        "--params_output=-: parameters go to a file or a folder, and not to standard output");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ExitCode> RunTrainCommand(const TrainCommand& command) {
  RETURN_IF_ERROR(CheckParametersFlags(command));
  std::vector<std::string> paths = {command.program, command.startup, command.config,  command.plan,
                                    command.profile, command.target,  command.patterns};
  for (std::string& path : SplitNames(command.quantizers)) paths.push_back(std::move(path));
  RETURN_IF_ERROR(CheckInputs(paths));
  TrainInputs& inputs = KeepUntilExit(TrainInputs());
  RETURN_IF_ERROR(ReadInputs(command, inputs));
  if (inputs.parameters) {
    for (std::string& path : ParameterInputs(command.params, inputs.program->program.Proto())) {
      paths.push_back(std::move(path));
    }
  }
  Outputs outputs(std::move(paths));
  ASSIGN_OR_RETURN(const Destinations to, ClaimOutputs(command, inputs, outputs));

  // Of the program that is planned: other passes may have rewritten it before.
  std::vector<OpsLeftOut>& left_out = KeepUntilExit(FindOpsLeftOut(inputs.program->program));
  auto& after_pass = inputs.options.pipeline_options.after_pass;
  after_pass = [&left_out, then = std::move(after_pass)](const Pass& pass, Program& program,
                                                         double seconds) {
    const std::vector<std::string> facts = pass.Establishes();
    if (std::find(facts.begin(), facts.end(), "planned") != facts.end()) {
      left_out = FindOpsLeftOut(program);
    }
    if (then) then(pass, program, seconds);
  };
  absl::StatusOr<TranspileResult>& transpiled =
      KeepUntilExit(Transpile(&inputs.program->program, inputs.options));
  if (!transpiled.ok()) {
    if (command.dry_run) return transpiled.status();
    return WithFailingProgram(
        transpiled.status(), inputs.program->program.Proto(),
        [&](const ProgramDesc& candidate) { return TryTranspile(candidate, inputs.options); },
        to.output.path == "-" ? "transpile" : to.output.path, &outputs);
  }
  TranspileResult& result = *transpiled;
  TranspileReport& report = KeepUntilExit(TranspileReport());
  report.program = command.program;
  report.left_alone = result.left_alone;
  report.notes = std::move(result.notes);
  report.explain = command.explain;
  report.plan = std::move(result.plan);
  report.left_out = std::move(left_out);
  if (!command.save_plan.empty()) {
    RETURN_IF_ERROR(outputs.Stage(command.save_plan, PrintTextMessage(report.plan)));
  }
  if (!command.dry_run) {
    RETURN_IF_ERROR(StageQuantized(inputs, to.output, outputs, report));
    const bool is_initialised = inputs.parameters && result.new_startup;
    if (is_initialised && IsWritten(inputs.program->program, report, to.output)) {
      RETURN_IF_ERROR(StageParametersWithState(command, *result.new_startup, to.params_output,
                                               outputs, inputs, report));
    }
    const auto& sites = report.plan.sites();
    if (!(is_initialised && report.plan.is_inference()) &&
        std::any_of(sites.begin(), sites.end(), HasRangeRule)) {
      report.notes.push_back(
          "the range_rule of weights is not followed: that takes a program for inference and its "
          "parameters (--params)");
    }
    if (!is_initialised || to.startup_output.is_named) {
      RETURN_IF_ERROR(StageStartup(inputs, result.new_startup, to.startup_output, outputs, report));
    }
  }
  RETURN_IF_ERROR(outputs.Commit());
  if (!command.json) WriteNotes(report.program, report.notes);
  const bool is_report_alone = command.dry_run && command.save_plan != "-";
  RETURN_IF_ERROR(WriteReport(command.json ? ReportJson(report) : ReportText(report),
                              outputs.to_standard_output() && !is_report_alone));
  return kDone;
}

absl::StatusOr<ExitCode> RunUndoCommand(const UndoCommand& command) {
  ASSIGN_OR_RETURN(NamedProgram loaded, LoadNamedProgram(command.program));
  Program& program = loaded.program;
  const int ops = OpCount(program);
  RETURN_IF_ERROR(Untranspile(&program));
  const std::string output =
      command.output.empty() ? Beside(command.program, "original") : command.output;
  Outputs outputs({command.program});
  RETURN_IF_ERROR(ClaimProgram(output, loaded.format, &outputs));
  if (command.dry_run) {
    RETURN_IF_ERROR(WriteReport(DryRunText(output, ops, OpCount(program)), false));
    return kDone;
  }
  RETURN_IF_ERROR(StageProgram(program, loaded.format, output, &outputs));
  RETURN_IF_ERROR(outputs.Commit());
  RETURN_IF_ERROR(WriteReport(absl::StrCat("wrote ", output, "\n"), output == "-"));
  return kDone;
}

}  // namespace fixpoint
