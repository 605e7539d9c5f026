// calibrate: runs a program on samples, and writes a profile of its values, from which ranges are
// chosen when it is quantized.

#include <gflags/gflags.h>

#include <utility>

#include "absl/status/statusor.h"
#include "proto/base/status_macros.h"
#include "tools/calibration_command.h"
#include "tools/command_line.h"
#include "tools/network_flags.h"
#include "tools/sample_flags.h"

DEFINE_bool(outputs, false,
            "Follow the outputs of ops too, for configurations that observe_outputs.");
DEFINE_int64(save_every, 1000,
             "Save the profile every N samples, so that a run that was killed can be resumed.");

namespace fixpoint {
namespace {

ToolHelp Help() {
  ToolHelp help;
  help.name = "calibrate";
  help.purpose = "Finds the ranges of a program's values by running it on samples.";
  help.usage = {"calibrate PROGRAM --params=WHERE --data=NAME --output=FILE [flags]"};
  help.flag_groups = {
      {"What runs:", {"params", "data", "samples", "seed", "images", "labels", "scores"}},
      {"How:", {"threads", "batch_size", "max_iterations", "save_every", "resume"}},
      {"What is written:", {"output", "outputs"}}};
  help.examples = {
      "calibrate mlp.test.txt --params=mlp.params --data=digits:500 --output=mlp.profile"};
  return help;
}

absl::StatusOr<ExitCode> Run(const CommandLine& line) {
  ASSIGN_OR_RETURN(SampleFlags samples, ReadSampleFlags(line, "FILE"));
  RETURN_IF_ERROR(CheckAtLeast("save_every", FLAGS_save_every, 1));
  const bool is_piped = samples.output == "-";
  if (samples.resume && is_piped) {
    return UsageError("--resume: standard output has nothing saved beside it; want --output=FILE");
  }
  ASSIGN_OR_RETURN(const NetworkFlags flags, ReadNetworkFlags());
  CalibrationCommand command;
  command.from = std::move(samples);
  command.variables = flags.variables;
  command.batch_size = flags.batch_size;
  command.save_every = is_piped ? 0 : FLAGS_save_every;
  if (FLAGS_outputs) command.outputs = ObservedOutputs::kAll;
  command.threads = flags.backend_options.threads;
  command.max_iterations = flags.backend_options.max_iterations;
  return RunCalibrationCommand(command);
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  return fixpoint::RunTool(argc, argv, fixpoint::Help(), fixpoint::Run);
}
