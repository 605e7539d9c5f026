// calibrate: runs a program on samples, and writes a profile of its values, from which ranges are
// chosen when it is quantized.

#include <gflags/gflags.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "tools/calibration_command.h"
#include "tools/command_line.h"
#include "tools/network_ends.h"
#include "tools/network_flags.h"

DEFINE_string(params, "", "Parameters: a combined file, or a folder with a file for each.");
DEFINE_string(
    data, "",
    "Run on the training samples of mnist:FOLDER, cifar10:FOLDER, digits[:N] or "
    "color_digits[:N], or on your own: images:PATH, npz:FILE or npy:NAME=FILE,NAME=FILE.");
DEFINE_int64(samples, 300, "How many samples to run, if there are as many.");
DEFINE_string(output, "", "Where to write the profile.");
DEFINE_bool(outputs, false,
            "Follow the outputs of ops too, for configurations that observe_outputs.");
DEFINE_int64(save_every, 1000,
             "Save the profile every N samples, so that a run that was killed can be resumed.");
DEFINE_bool(resume, false, "Go on from what a run that was killed has saved.");
DECLARE_uint64(seed);

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
  if (line.arguments.size() != 1) {
    return UsageError(absl::StrCat("want one program; got ", line.arguments.size()));
  }
  if (FLAGS_data.empty()) return UsageError("want samples: --data=mnist:FOLDER or another");
  if (FLAGS_output.empty()) return UsageError("want an output: --output=FILE");
  RETURN_IF_ERROR(CheckAtLeast("samples", FLAGS_samples, 1));
  RETURN_IF_ERROR(CheckAtLeast("save_every", FLAGS_save_every, 1));
  if (FLAGS_resume && FLAGS_output == "-") {
    return UsageError("--resume: standard output has nothing saved beside it; want --output=FILE");
  }
  ASSIGN_OR_RETURN(const NetworkFlags flags, ReadNetworkFlags());
  CalibrationCommand command;
  command.program = line.arguments[0];
  command.params = FLAGS_params;
  ASSIGN_OR_RETURN(command.data, DataOfFlag("data", FLAGS_data));
  command.data_name = FLAGS_data;
  command.variables = flags.variables;
  command.output = FLAGS_output;
  command.samples = FLAGS_samples;
  command.seed = FLAGS_seed;
  command.batch_size = flags.batch_size;
  command.save_every = FLAGS_output == "-" ? 0 : FLAGS_save_every;
  command.resume = FLAGS_resume;
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
