// quantize: a float network and samples in, a checked int8 network out.

#include <gflags/gflags.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "proto/base/status_macros.h"
#include "tools/command_line.h"
#include "tools/network_ends.h"
#include "tools/network_flags.h"
#include "tools/quantize_command.h"
#include "tools/sample_flags.h"

DEFINE_string(config, "", "Configuration (proto/config/quant_config.proto as text).");
DEFINE_string(target, "",
              "Built-in target, or target file (whose path has a / or a .); overrides the "
              "configuration's; onednn_int8 if neither names one.");
DEFINE_bool(fold_batch_norm, false, "Fold batch norms into the weights before them.");
DEFINE_string(metric, "",
              "What to measure before and after: accuracy, loss, or a variable of one number; with "
              "a - before it if less is better.");
DEFINE_string(eval_data, "",
              "What to measure on, named as --data; by default its test images, if it has some, or "
              "else the same samples.");

namespace fixpoint {
namespace {

ToolHelp Help() {
  ToolHelp help;
  help.name = "quantize";
  help.purpose = "Makes an int8 program of a float one: ranges, weights, and checks, in one go.";
  help.usage = {"quantize PROGRAM --params=WHERE --data=NAME --output=DIR [flags]"};
  help.flag_groups = {
      {"What runs:", {"params", "data", "samples", "seed", "images", "labels", "loss", "scores"}},
      {"How it is quantized:", {"config", "target", "fold_batch_norm"}},
      {"What is measured:", {"metric", "eval_data"}},
      {"How:", {"threads", "batch_size", "max_iterations"}},
      {"What is written:", {"output"}}};
  help.examples = {
      "quantize mlp.test.txt --params=mlp.params --data=digits:500 --output=mlp.int8 "
      "--metric=accuracy"};
  return help;
}

absl::StatusOr<ExitCode> Run(const CommandLine& line) {
  QuantizeCommand command;
  ASSIGN_OR_RETURN(command.from, ReadSampleFlags(line, "DIR"));
  ASSIGN_OR_RETURN(const NetworkFlags flags, ReadNetworkFlags());
  command.variables = flags.variables;
  command.config = FLAGS_config;
  command.target = FLAGS_target;
  command.fold_batch_norm = FLAGS_fold_batch_norm;
  command.metric = FLAGS_metric;
  if (!FLAGS_eval_data.empty()) {
    ASSIGN_OR_RETURN(command.eval_data, DataOfFlag("eval_data", FLAGS_eval_data));
  }
  command.batch_size = flags.batch_size;
  command.threads = flags.backend_options.threads;
  command.max_iterations = flags.backend_options.max_iterations;
  return RunQuantizeCommand(command);
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  return fixpoint::RunTool(argc, argv, fixpoint::Help(), fixpoint::Run);
}
