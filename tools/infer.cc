// infer: a program and its parameters, run on arrays or measured on a data set.

#include <gflags/gflags.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "proto/status_macros.h"
#include "runtime/backends.h"
#include "runtime/data/data_set.h"
#include "runtime/passive_waiting.h"
#include "tools/command_line.h"
#include "tools/inference_command.h"
#include "tools/mode_flags.h"

DEFINE_string(params, "", "Parameters: a combined file, or a folder with a file for each.");
DEFINE_string(feeds, "", "What is fed, NAME=FILE.npy, comma separated.");
DEFINE_string(fetches, "", "What is computed and where it goes, NAME=FILE.npy, comma separated.");
DEFINE_string(
    data, "",
    "Measure on the test images of mnist:FOLDER, cifar10:FOLDER, digits[:N] or color_digits[:N].");
DEFINE_string(images, "", "The fed variable of images; by default the only one of floats.");
DEFINE_string(labels, "", "The fed variable of labels; by default the only one of integers.");
DEFINE_string(loss, "", "The loss to tell the mean of; by default none.");
DEFINE_string(scores, "",
              "The variable [N,classes] whose largest is the answer; by default what the cross "
              "entropy reads, or the only one that is fetched.");
DEFINE_int64(batch_size, 64, "Images in a batch.");
DEFINE_bool(json, false, "Print the report as JSON.");
DEFINE_string(backend, "onednn",
              "What runs the program: onednn, or reference, which is slow and clear.");
DEFINE_uint64(seed, 0, "Of random ops.");
DEFINE_int32(threads, 1, "How many threads the backend may use.");
DEFINE_bool(dump_plan, false, "Print the steps that the backend has planned.");
DEFINE_bool(profile, false, "Measure each step of the backend, and print where the time went.");

namespace fixpoint {
namespace {

std::vector<ModeFlags> Modes() {
  return {{"arrays", {"feeds", "fetches"}},
          {"data", {"data", "images", "labels", "loss", "scores", "batch_size", "json"}}};
}

ToolHelp Help() {
  ToolHelp help;
  help.name = "infer";
  help.purpose = "Runs a program of inference.";
  help.usage = {"infer PROGRAM --params=WHERE --data=NAME [flags]    measure on a data set",
                "infer PROGRAM --params=WHERE --feeds=NAME=FILE.npy --fetches=NAME=FILE.npy",
                "                                                    arrays in and out"};
  help.flag_groups = {
      {"What runs:", {"params", "backend", "seed", "threads", "dump_plan", "profile"}}};
  for (FlagGroup& group : FlagGroupsOf(Modes())) help.flag_groups.push_back(std::move(group));
  help.examples = {
      "train examples/data/mlp.train.txt --startup=examples/data/mlp.startup.txt "
      "--data=digits:500 --epochs=20 --save=mlp.params",
      "transpile --mode=test --output=mlp.test.txt examples/data/mlp.train.txt",
      "infer mlp.test.txt --params=mlp.params --data=digits:500"};
  return help;
}

absl::StatusOr<std::vector<NamedFile>> ParseNamedFiles(absl::string_view flag,
                                                       const std::string& value) {
  std::vector<NamedFile> files;
  for (const std::string& item : SplitNames(value)) {
    const std::vector<std::string> parts = absl::StrSplit(item, absl::MaxSplits('=', 1));
    if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) {
      return UsageError(absl::StrCat("--", flag, ": \"", item, "\"; want NAME=FILE.npy"));
    }
    files.push_back({parts[0], parts[1]});
  }
  return files;
}

absl::StatusOr<ExitCode> Run(const CommandLine& line) {
  if (line.arguments.size() != 1) {
    return UsageError(absl::StrCat("one program is wanted; ", line.arguments.size(), " are named"));
  }
  if (FLAGS_data.empty() == FLAGS_fetches.empty()) {
    return UsageError(
        "what to do is wanted: --fetches=NAME=FILE.npy, or --data=mnist:FOLDER or "
        "another");
  }
  RETURN_IF_ERROR(CheckFlagsOfMode(FLAGS_data.empty() ? "arrays" : "data", Modes(), line.flags));
  if (FLAGS_batch_size < 1 || FLAGS_threads < 1) {
    return UsageError(absl::StrCat("--batch_size=", FLAGS_batch_size, " --threads=", FLAGS_threads,
                                   "; want 1 or more of each"));
  }
  InferenceCommand command;
  command.program = line.arguments[0];
  command.params = FLAGS_params;
  ASSIGN_OR_RETURN(command.feeds, ParseNamedFiles("feeds", FLAGS_feeds));
  ASSIGN_OR_RETURN(command.fetches, ParseNamedFiles("fetches", FLAGS_fetches));
  if (!FLAGS_data.empty()) {
    const absl::StatusOr<DataSetName> data_set = ParseDataSetName(FLAGS_data);
    if (!data_set.ok()) return UsageError(absl::StrCat("--data: ", data_set.status().message()));
    command.data_set = *data_set;
  }
  command.variables = {FLAGS_images, FLAGS_labels, FLAGS_loss, FLAGS_scores};
  command.batch_size = FLAGS_batch_size;
  const absl::StatusOr<BackendKind> backend = BackendOfName(FLAGS_backend);
  if (!backend.ok()) return UsageError(absl::StrCat("--backend: ", backend.status().message()));
  command.backend = *backend;
  command.backend_options.seed = FLAGS_seed;
  command.backend_options.threads = FLAGS_threads;
  command.backend_options.profile = FLAGS_profile;
  command.dump_plan = FLAGS_dump_plan;
  command.json = FLAGS_json;
  return RunInferenceCommand(command);
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  return fixpoint::RunTool(argc, argv, fixpoint::Help(), [argv](const fixpoint::CommandLine& line) {
    if (FLAGS_threads > 1) fixpoint::WaitPassively(argv);
    return fixpoint::Run(line);
  });
}
