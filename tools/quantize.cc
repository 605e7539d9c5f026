// quantize: a float network and samples in, a checked int8 network out.

#include <gflags/gflags.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "tools/command_line.h"
#include "tools/interruption.h"
#include "tools/network_ends.h"
#include "tools/network_flags.h"
#include "tools/plugin_flags.h"
#include "tools/quantize_command.h"
#include "tools/sample_flags.h"
#include "transpiler/extensions/extensions.h"
#include "transpiler/quantize/network_cost.h"

DEFINE_string(config, "",
              "Configuration: protobuf text (proto/config/quant_config.proto), or JSON of NNI or "
              "PaddlePaddle.");
DEFINE_string(target, "",
              "Built-in target, or target file (whose path has a / or a .); overrides the "
              "configuration's; onednn_int8 if neither names one.");
DEFINE_string(quantizers, "",
              "Files of quantizers as text, comma separated, that the configuration can name.");
DEFINE_bool(fold_batch_norm, false, "Fold batch norms into the weights before them.");
DEFINE_bool(equalize, false, "Give weights of layers that follow each other equal ranges.");
DEFINE_bool(smooth, false, "Move large channels of activations into the weights that read them.");
DEFINE_bool(correct_biases, false,
            "Subtract from each bias by how much quantizing moves the mean of its channel.");
DEFINE_string(rounding, "nearest",
              "How weights are rounded: nearest, or learned, layer by layer on the samples.");
DEFINE_string(metric, "",
              "What to measure before and after: accuracy, loss, or a variable of one number, of "
              "which more is better; with a - before it if less is.");
DEFINE_string(eval_data, "",
              "What to measure on, named as --data; by default its test images, if it has some, or "
              "else the same samples.");

DEFINE_bool(times, true,
            "Measure kernels and report how long a run is expected to take; without it, as with "
            "--notimes, the same run writes the same bytes on any machine.");
DEFINE_bool(json, false, "Print the report as JSON.");
DEFINE_double(
    max_drop, 0,
    "By how much --metric may be worse than in float, in its own units (accuracy: points): "
    "layers get more bits, or stay in float, until it is not.");
DEFINE_string(budget, "",
              "What the result may take, in bytes of parameters or expected time of a run: 4MB, "
              "300KB, 2ms. As many layers stay in float as that allows.");

namespace fixpoint {
namespace {

ToolHelp Help() {
  ToolHelp help;
  help.name = "quantize";
  help.purpose = "Makes an int8 program of a float one: ranges, weights, and checks, in one go.";
  help.usage = {"quantize PROGRAM --params=WHERE --data=NAME --output=DIR [flags]"};
  help.flag_groups = {
      {"What runs:", {"params", "data", "samples", "seed", "images", "labels", "loss", "scores"}},
      {"How it is quantized:",
       {"config", "target", "quantizers", kPluginFlag, "fold_batch_norm", "equalize", "smooth",
        "correct_biases", "rounding"}},
      {"What is measured:", {"metric", "eval_data", "max_drop", "budget"}},
      {"How:", {"threads", "batch_size", "max_iterations", "resume"}},
      {"What is written:", {"output", "times", "json"}}};
  help.repeatable = {kPluginFlag};
  help.examples = {
      "quantize mlp.test.txt --params=mlp.params --data=digits:500 --output=mlp.int8 "
      "--metric=accuracy"};
  return help;
}

// What is searched for. Usage errors: both bounds; one that is none; a drop of nothing.
absl::Status ReadBound(const CommandLine& line, QuantizeCommand* command) {
  if (line.IsGiven("budget")) {
    if (line.IsGiven("max_drop")) {
      return UsageError("--max_drop and --budget are both what to search for; want one of them");
    }
    const absl::StatusOr<Budget> budget = Budget::Parse(FLAGS_budget);
    if (!budget.ok()) return UsageError(absl::StrCat("--budget: ", budget.status().message()));
    command->budget = *budget;
  }
  if (!line.IsGiven("max_drop")) return absl::OkStatus();
  if (FLAGS_metric.empty()) return UsageError("--max_drop needs what may drop: --metric=NAME");
  if (!(FLAGS_max_drop >= 0)) {
    return UsageError(absl::StrCat("--max_drop=", FLAGS_max_drop, "; want a number from 0"));
  }
  command->max_drop = FLAGS_max_drop;
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> Run(const CommandLine& line) {
  QuantizeCommand command;
  ASSIGN_OR_RETURN(command.from, ReadSampleFlags(line, "DIR"));
  ASSIGN_OR_RETURN(const NetworkFlags flags, ReadNetworkFlags());
  command.variables = flags.variables;
  command.config = FLAGS_config;
  command.target = FLAGS_target;
  command.quantizers = FLAGS_quantizers;
  command.fold_batch_norm = FLAGS_fold_batch_norm;
  command.equalize = FLAGS_equalize;
  if (FLAGS_smooth) command.weights.smooth.emplace();
  command.weights.correct_biases = FLAGS_correct_biases;
  if (FLAGS_rounding == "learned") {
    command.weights.rounding.emplace();
  } else if (FLAGS_rounding != "nearest") {
    return UsageError(
        absl::StrCat("--rounding=", FLAGS_rounding, "; there are nearest and learned"));
  }
  command.with_times = FLAGS_times;
  command.json = FLAGS_json;
  command.metric = FLAGS_metric;
  if (!FLAGS_eval_data.empty()) {
    if (FLAGS_metric.empty()) {
      return UsageError("--eval_data is what to measure on; say what to measure: --metric=NAME");
    }
    ASSIGN_OR_RETURN(command.eval_data, DataOfFlag("eval_data", FLAGS_eval_data));
  }
  RETURN_IF_ERROR(ReadBound(line, &command));
  command.batch_size = flags.batch_size;
  command.threads = flags.backend_options.threads;
  command.max_iterations = flags.backend_options.max_iterations;
  Extensions extensions;
  RETURN_IF_ERROR(LoadPlugins(&extensions));
  command.extensions = &extensions;
  return RunQuantizeCommand(command);
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  const int code = fixpoint::RunTool(argc, argv, fixpoint::Help(), fixpoint::Run);
  fixpoint::EndIfInterrupted();
  return code;
}
