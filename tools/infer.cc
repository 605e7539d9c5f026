// infer: a program and its parameters, run on arrays, measured on a data set, compared with another
// one, or timed.

#include <gflags/gflags.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "runtime/backends.h"
#include "runtime/data/data_source.h"
#include "runtime/thread_waiting.h"
#include "tools/bench_command.h"
#include "tools/command_line.h"
#include "tools/comparison_command.h"
#include "tools/inference_command.h"
#include "tools/inference_inputs.h"
#include "tools/mode_flags.h"
#include "tools/network_ends.h"
#include "tools/network_flags.h"
#include "tools/plugin_flags.h"
#include "transpiler/extensions/extensions.h"

DEFINE_string(params, "", "Parameters: a combined file, or a folder with a file for each.");
DEFINE_string(feeds, "", "Inputs, NAME=FILE.npy, comma separated.");
DEFINE_string(
    fetches, "",
    "Outputs and where to write them, NAME=FILE.npy, comma separated; with --bench, which "
    "writes none, names alone.");
DEFINE_string(
    data, "",
    "Inputs: the test images of mnist:FOLDER, cifar10:FOLDER, digits[:N] or color_digits[:N]; or "
    "your own: images:PATH, npz:FILE or npy:NAME=FILE,NAME=FILE. Measures on them all, or gives "
    "the first batches "
    "to --compare, the first to --bench.");
DEFINE_string(compare, "", "Compare with this program, variable by variable, on the same inputs.");
DEFINE_string(compare_params, "", "The parameters of --compare; by default those of --params.");
DEFINE_string(compare_backend, "",
              "The backend of --compare; by default that of the first program.");
DEFINE_bool(op_by_op, false,
            "Give each op the inputs that the other program computed, so that a difference shows "
            "where it arises.");
DEFINE_int64(batches, 1, "How many batches of the data set to compare.");
DEFINE_string(
    report, "",
    "File for what --compare found: a page, or for .textproto what inspect report reads.");
DEFINE_bool(bench, false, "Measure latency, throughput and memory.");
DEFINE_double(seconds, 2, "How long to measure.");
DEFINE_bool(json, false, "Print the report as JSON.");

namespace fixpoint {
namespace {

std::vector<ModeFlags> Modes() {
  return {
      {"arrays", {"feeds", "fetches", "backend", "seed", "dump_plan", "profile", "check_finite"}},
      {"data",
       {"data", "images", "labels", "loss", "scores", "batch_size", "json", "backend", "seed",
        "dump_plan", "profile", "check_finite"}},
      {"compare",
       {"feeds", "data", "images", "labels", "batch_size", "json", "backend", "seed", "compare",
        "compare_params", "compare_backend", "op_by_op", "batches", "report"}},
      {"bench",
       {"feeds", "fetches", "data", "images", "labels", "scores", "batch_size", "json", "dump_plan",
        "profile", "bench", "seconds"}}};
}

ToolHelp Help() {
  ToolHelp help;
  help.name = "infer";
  help.purpose = "Runs an inference program.";
  help.usage = {"infer PROGRAM --params=WHERE --data=NAME [flags]    measure on samples",
                "infer PROGRAM --params=WHERE --feeds=NAME=FILE.npy --fetches=NAME=FILE.npy",
                "                                                    arrays in and out",
                "infer PROGRAM --params=WHERE --compare=OTHER --compare_params=WHERE ...",
                "                                                    two programs on one input",
                "infer PROGRAM --params=WHERE --bench                how fast it is"};
  help.flag_groups = {{"What runs:", {"params", "threads", "max_iterations", kPluginFlag}}};
  for (FlagGroup& group : FlagGroupsOf(Modes())) help.flag_groups.push_back(std::move(group));
  help.repeatable = {kPluginFlag};
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

// Error (of usage): also a variable that is named twice.
absl::StatusOr<std::vector<NamedFile>> ReadFeeds() {
  ASSIGN_OR_RETURN(std::vector<NamedFile> feeds, ParseNamedFiles("feeds", FLAGS_feeds));
  absl::flat_hash_set<absl::string_view> names;
  for (const NamedFile& feed : feeds) {
    if (names.insert(feed.name).second) continue;
    return UsageError(absl::StrCat("--feeds: \"", feed.name, "\" is named twice; want one file"));
  }
  return feeds;
}

// Error (of usage): a file to write, where nothing is written.
absl::StatusOr<std::vector<std::string>> ReadNamesOfFetches() {
  std::vector<std::string> names = SplitNames(FLAGS_fetches);
  for (const std::string& name : names) {
    if (!absl::StrContains(name, '=')) continue;
    return UsageError(absl::StrCat("--fetches: \"", name,
                                   "\"; --bench writes no outputs: want their names alone"));
  }
  return names;
}

absl::StatusOr<std::optional<DataSource>> ReadData() {
  if (FLAGS_data.empty()) return std::nullopt;
  return DataOfFlag("data", FLAGS_data);
}

absl::StatusOr<ExitCode> RunProgram(const std::string& path, const NetworkFlags& flags) {
  InferenceCommand command;
  command.program = path;
  command.params = FLAGS_params;
  ASSIGN_OR_RETURN(command.feeds, ReadFeeds());
  ASSIGN_OR_RETURN(command.fetches, ParseNamedFiles("fetches", FLAGS_fetches));
  ASSIGN_OR_RETURN(command.data, ReadData());
  command.variables = flags.variables;
  command.batch_size = flags.batch_size;
  command.backend = flags.backend;
  command.backend_options = flags.backend_options;
  command.dump_plan = flags.dump_plan;
  command.json = FLAGS_json;
  return RunInferenceCommand(command);
}

absl::StatusOr<ExitCode> Compare(const std::string& path, const NetworkFlags& flags,
                                 const QuantizerTable& quantizers) {
  RETURN_IF_ERROR(CheckAtLeast("batches", FLAGS_batches, 1));
  ComparisonCommand command;
  command.program = {path, FLAGS_params, flags.backend};
  command.other = {FLAGS_compare, FLAGS_compare_params, flags.backend};
  if (FLAGS_compare_params.empty()) {
    command.other.params = FLAGS_params;
    command.other.has_own_params = FLAGS_params.empty() || FLAGS_compare == path;
  }
  if (!FLAGS_compare_backend.empty()) {
    const absl::StatusOr<BackendKind> backend = BackendOfName(FLAGS_compare_backend);
    if (!backend.ok()) {
      return UsageError(absl::StrCat("--compare_backend: ", backend.status().message()));
    }
    command.other.backend = *backend;
  }
  command.op_by_op = FLAGS_op_by_op;
  command.backend_options = flags.backend_options;
  ASSIGN_OR_RETURN(command.feeds, ReadFeeds());
  ASSIGN_OR_RETURN(command.data, ReadData());
  if (command.data && !command.feeds.empty()) {
    return UsageError("--feeds and --data: what is compared runs on one of them");
  }
  command.variables = flags.variables;
  command.batch_size = flags.batch_size;
  command.batches = FLAGS_batches;
  command.json = FLAGS_json;
  command.report = FLAGS_report;
  command.quantizers = &quantizers;
  return RunComparisonCommand(command);
}

absl::StatusOr<ExitCode> Bench(const std::string& path, const NetworkFlags& flags) {
  if (!(FLAGS_seconds >= 0)) {
    return UsageError(absl::StrCat("--seconds=", FLAGS_seconds, "; want 0 or more"));
  }
  BenchCommand command;
  command.program = path;
  command.params = FLAGS_params;
  ASSIGN_OR_RETURN(command.feeds, ReadFeeds());
  ASSIGN_OR_RETURN(command.data, ReadData());
  if (command.data && !command.feeds.empty()) {
    return UsageError("--feeds and --data: what is timed runs on one of them");
  }
  ASSIGN_OR_RETURN(command.fetches, ReadNamesOfFetches());
  command.variables = flags.variables;
  command.batch_size = flags.batch_size;
  command.seconds = FLAGS_seconds;
  command.threads = flags.backend_options.threads;
  command.max_iterations = flags.backend_options.max_iterations;
  command.dump_plan = flags.dump_plan;
  command.profile = flags.backend_options.profile;
  command.json = FLAGS_json;
  return RunBenchCommand(command);
}

// Error (of usage): none is asked for, or several.
absl::StatusOr<std::string> ReadMode() {
  if (FLAGS_bench && !FLAGS_compare.empty()) {
    return UsageError("--bench and --compare: one of them at a time");
  }
  if (FLAGS_bench) return "bench";
  if (!FLAGS_compare.empty()) return "compare";
  if (!FLAGS_data.empty() && !FLAGS_fetches.empty()) {
    return UsageError(
        "--fetches and --data: one of them at a time; --fetches runs once on arrays (--feeds), "
        "--data measures on a data set");
  }
  if (FLAGS_data.empty() && FLAGS_fetches.empty()) {
    return UsageError(
        "nothing to do; want --fetches=NAME=FILE.npy, --data=mnist:FOLDER or another, "
        "--compare=OTHER, or --bench");
  }
  return FLAGS_data.empty() ? "arrays" : "data";
}

absl::StatusOr<ExitCode> Run(const CommandLine& line) {
  if (line.arguments.size() != 1) {
    return UsageError(absl::StrCat("want one program; got ", line.arguments.size()));
  }
  ASSIGN_OR_RETURN(const std::string mode, ReadMode());
  RETURN_IF_ERROR(CheckFlagsOfMode(mode, Modes(), line.flags));
  ASSIGN_OR_RETURN(const NetworkFlags flags, ReadNetworkFlags());
  Extensions extensions;
  RETURN_IF_ERROR(LoadPlugins(&extensions));
  const std::string& path = line.arguments[0];
  if (mode == "compare") return Compare(path, flags, extensions.Quantizers());
  if (mode == "bench") return Bench(path, flags);
  return RunProgram(path, flags);
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  return fixpoint::RunTool(argc, argv, fixpoint::Help(), [argv](const fixpoint::CommandLine& line) {
    if (FLAGS_threads > 1) fixpoint::SpinBriefly(argv);
    return fixpoint::Run(line);
  });
}
