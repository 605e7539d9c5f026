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
#include "tools/command_line.h"
#include "tools/inference_command.h"
#include "tools/mode_flags.h"
#include "tools/network_flags.h"

DEFINE_string(params, "", "Parameters: a combined file, or a folder with a file for each.");
DEFINE_string(feeds, "", "What is fed, NAME=FILE.npy, comma separated.");
DEFINE_string(fetches, "", "What is computed and where it goes, NAME=FILE.npy, comma separated.");
DEFINE_string(
    data, "",
    "Measure on the test images of mnist:FOLDER, cifar10:FOLDER, digits[:N] or color_digits[:N].");
DEFINE_bool(json, false, "Print the report as JSON.");

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
  ASSIGN_OR_RETURN(const NetworkFlags flags, ReadNetworkFlags());
  InferenceCommand command;
  command.program = line.arguments[0];
  command.params = FLAGS_params;
  ASSIGN_OR_RETURN(command.feeds, ParseNamedFiles("feeds", FLAGS_feeds));
  ASSIGN_OR_RETURN(command.fetches, ParseNamedFiles("fetches", FLAGS_fetches));
  if (!FLAGS_data.empty()) {
    ASSIGN_OR_RETURN(command.data_set, DataSetOfFlag(FLAGS_data));
  }
  command.variables = flags.variables;
  command.batch_size = flags.batch_size;
  command.backend = flags.backend;
  command.backend_options = flags.backend_options;
  command.dump_plan = flags.dump_plan;
  command.json = FLAGS_json;
  return RunInferenceCommand(command);
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  return fixpoint::RunTool(argc, argv, fixpoint::Help(), fixpoint::Run);
}
