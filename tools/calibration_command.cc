#include "tools/calibration_command.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/base/status_macros.h"
#include "proto/config/range_profile.pb.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "runtime/calibration/calibration_run.h"
#include "runtime/data/sample_set.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "tools/named_parameters.h"
#include "tools/named_program.h"
#include "tools/network_ends.h"
#include "tools/outputs.h"
#include "tools/progress_line.h"

namespace fixpoint {
namespace {

using Clock = std::chrono::steady_clock;

// The file in which an unfinished profile is saved.
std::string PartialOf(const std::string& output) { return absl::StrCat(output, ".partial"); }

// Runs the samples, with a line of progress.
absl::Status RunSamples(CalibrationRun* run) {
  ProgressLine progress = ProgressLine::OnStandardError();
  const Clock::time_point begin = Clock::now();
  const int64_t first = run->done();
  return run->Run([&] {
    if (!progress.IsDue()) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    progress.Show(absl::StrFormat("sample %d/%d  %.1f samples/s", run->done(), run->samples(),
                                  static_cast<double>(run->done() - first) / seconds));
  });
}

// For what ops run: the program's fetches, or the scores.
absl::StatusOr<std::vector<std::string>> OutputsOf(const CalibrationCommand& command,
                                                   const Program& program) {
  ASSIGN_OR_RETURN(NetworkEnds ends, FindNetworkEnds(program, command.from.program, {},
                                                     command.variables, "--scores=NAME"));
  return std::move(ends.outputs);
}

}  // namespace

absl::StatusOr<ExitCode> RunCalibrationCommand(const CalibrationCommand& command) {
  ASSIGN_OR_RETURN(const NamedProgram named, LoadNamedProgram(command.from.program));
  const Program& program = named.program;
  std::vector<std::string> inputs = ParameterInputs(command.from.params, program.Proto());
  inputs.push_back(command.from.program);
  Outputs outputs(std::move(inputs));
  RETURN_IF_ERROR(outputs.Claim(command.from.output));
  Scope parameters;
  if (!command.from.params.empty()) {
    ASSIGN_OR_RETURN(parameters, LoadParameters(program.Proto(), command.from.params));
  }
  ASSIGN_OR_RETURN(const NetworkVariables variables,
                   FindVariablesForFlags(program, command.from.program, command.variables,
                                         InputsOf(command.from.data)));
  CalibrationRunOptions options;
  ASSIGN_OR_RETURN(options.calibration.outputs, OutputsOf(command, program));
  options.calibration.observed = FindObservedVariables(program, command.outputs);
  options.calibration.threads = command.threads;
  options.calibration.max_iterations = command.max_iterations;
  options.variables = variables;
  options.data_name = command.from.data_name;
  options.samples = command.from.samples;
  options.seed = command.from.seed;
  options.batch_size = command.batch_size;
  options.saved = PartialOf(command.from.output);
  options.save_every = command.save_every;
  ASSIGN_OR_RETURN(const std::unique_ptr<SampleSet> set,
                   OpenData(command.from.data, DataPart::kTraining));
  ASSIGN_OR_RETURN(const std::unique_ptr<CalibrationRun> run,
                   CalibrationRun::Create(program, &parameters, set.get(), options));
  if (command.from.resume) {
    RETURN_IF_ERROR(run->Resume());
    if (run->done() > 0) {
      WriteNotes(command.from.program,
                 {absl::StrCat("resuming from ", options.saved, " after ", run->done(),
                               run->done() == 1 ? " sample" : " samples")});
    }
  }
  RETURN_IF_ERROR(RunSamples(run.get()));
  const RangeProfile& profile = run->Profile();
  RETURN_IF_ERROR(outputs.Stage(command.from.output, PrintTextMessage(profile)));
  RETURN_IF_ERROR(outputs.Commit());
  std::error_code error;
  std::filesystem::remove(options.saved, error);
  WriteNotes(command.from.program, run->Notes());
  RETURN_IF_ERROR(WriteReport(absl::StrCat("variables ", profile.entries_size(), ", samples ",
                                           run->done(), "\n", "wrote ", command.from.output, "\n"),
                              outputs.to_standard_output()));
  return kDone;
}

}  // namespace fixpoint
