// train: a training program, its startup program and data in, trained parameters out.

#include <gflags/gflags.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/backends.h"
#include "runtime/backward_precision.h"
#include "runtime/data/data_source.h"
#include "runtime/thread_waiting.h"
#include "runtime/training/metric.h"
#include "runtime/training/rate_schedule.h"
#include "tools/command_line.h"
#include "tools/interruption.h"
#include "tools/network_ends.h"
#include "tools/network_flags.h"
#include "tools/plugin_flags.h"
#include "tools/training_command.h"
#include "transpiler/extensions/extensions.h"

DEFINE_string(startup, "", "Startup program, which initialises the variables.");
DEFINE_string(params, "",
              "Parameters to start from, instead of the startup program's: a combined file, or a "
              "folder; those that a folder lacks start as there.");
DEFINE_string(data, "",
              "mnist:FOLDER, cifar10:FOLDER, or digits[:N] or color_digits[:N], which are "
              "rendered; or your own: images:PATH, npz:FILE or npy:NAME=FILE,NAME=FILE.");
DEFINE_string(eval_data, "",
              "What to evaluate on, named likewise; by default the test images of --data, if it "
              "has some.");
DEFINE_string(eval_program, "",
              "Program to evaluate, with the same variables; by default the program in test mode.");
DEFINE_int64(augment_padding, 0,
             "Move each image by up to N pixels, in each direction and at random.");
DEFINE_bool(augment_flip, false, "Mirror half of the images, at random.");
DEFINE_int64(epochs, 1, "How often to go through the whole data set.");
DEFINE_int64(steps, 0, "How many batches to train on, instead of --epochs.");
DEFINE_string(learning_rate, "",
              "The rate, where the program's host feeds it: 0.1, cosine:0.1, linear:0.1 or "
              "piecewise:0.1,0.01@STEP,..., each with ,warmup=STEPS; by default what the startup "
              "program says.");
DEFINE_int64(eval_every, 0, "Evaluate every N steps; always after the last.");
DEFINE_string(
    keep_best, "",
    "Save the parameters of the best evaluation instead of the last: by accuracy, loss, or "
    "a variable of one number, of which more is better; with a - before it if less is.");
DEFINE_int64(reestimate_batch_norm, 0,
             "After the last step, set the statistics of batch norm to averages over N batches.");
DEFINE_int64(stop_after, 0, "End after N evaluations without a better one (--keep_best).");
DEFINE_string(backward, "f32",
              "What the gradients of convolutions and products multiply: f32, or bf16, which is "
              "faster and needs a processor with AVX512_BF16.");
DEFINE_int32(recompute, 0,
             "Take less memory: compute values again instead of holding them for the backward "
             "pass, with the same results; a step may take N percent longer.");
DEFINE_string(save, "", "Folder for the trained parameters, a file for each.");
DEFINE_string(metrics, "", "File for measurements, a line of JSON each; - for stdout.");
DEFINE_string(report, "",
              "File for what the run found: a page, or for .textproto what inspect report reads.");
DEFINE_string(dump, "", "Variables or gradients of the last step to write, comma separated.");
DEFINE_string(dump_output, "", "Where to write them, an .npz file.");
DEFINE_string(checkpoint_dir, "", "Folder for checkpoints.");
DEFINE_int64(checkpoint_every, 0, "Write a checkpoint every N steps; always after the last.");
DEFINE_int32(keep_checkpoints, 3, "How many checkpoints to keep.");
DEFINE_bool(resume, false, "Continue from the last checkpoint of --checkpoint_dir, if it has one.");

namespace fixpoint {
namespace {

ToolHelp Help() {
  ToolHelp help;
  help.name = "train";
  help.purpose = "Trains a program on images or on arrays.";
  help.usage = {"train PROGRAM --startup=FILE --data=NAME [flags]"};
  help.flag_groups = {
      {"Programs and data:",
       {"startup", "params", "data", "eval_data", "eval_program", "images", "labels", "loss",
        "scores", "measure", kPluginFlag}},
      {"How to train:",
       {"epochs", "steps", "batch_size", "learning_rate", "seed", "augment_padding", "augment_flip",
        "eval_every", "keep_best", "stop_after", "reestimate_batch_norm", "backward", "recompute",
        "backend", "threads", "max_iterations", "check_finite"}},
      {"What to write:",
       {"save", "metrics", "report", "dump", "dump_output", "dump_plan", "profile"}},
      {"Checkpoints:", {"checkpoint_dir", "checkpoint_every", "keep_checkpoints", "resume"}}};
  help.repeatable = {kPluginFlag};
  help.examples = {
      "train examples/data/mlp.train.txt --startup=examples/data/mlp.startup.txt "
      "--data=digits:500",
      "train examples/data/mlp.train.txt --startup=examples/data/mlp.startup.txt "
      "--data=digits:500 --epochs=20 --eval_every=16 --save=mlp.params"};
  return help;
}

// Checks flags that depend on each other.
absl::Status CheckFlags(const CommandLine& line) {
  if (line.arguments.size() != 1) {
    return UsageError(absl::StrCat("want one program; got ", line.arguments.size()));
  }
  if (FLAGS_startup.empty()) return UsageError("want the startup program: --startup=FILE");
  if (FLAGS_data.empty()) return UsageError("want data: --data=mnist:FOLDER or another");
  if (line.IsGiven("steps") && line.IsGiven("epochs")) {
    return UsageError("--steps and --epochs both say how long to train; want one of them");
  }
  RETURN_IF_ERROR(CheckAtLeast("epochs", FLAGS_epochs, 1));
  RETURN_IF_ERROR(CheckAtLeast("steps", FLAGS_steps, line.IsGiven("steps") ? 1 : 0));
  RETURN_IF_ERROR(CheckAtLeast("recompute", FLAGS_recompute, 0));
  RETURN_IF_ERROR(CheckAtLeast("augment_padding", FLAGS_augment_padding, 0));
  RETURN_IF_ERROR(CheckAtLeast("eval_every", FLAGS_eval_every, 0));
  RETURN_IF_ERROR(CheckAtLeast("checkpoint_every", FLAGS_checkpoint_every, 0));
  RETURN_IF_ERROR(CheckAtLeast("keep_checkpoints", FLAGS_keep_checkpoints, 1));
  RETURN_IF_ERROR(CheckAtLeast("stop_after", FLAGS_stop_after, line.IsGiven("stop_after") ? 1 : 0));
  if (FLAGS_stop_after > 0 && FLAGS_keep_best.empty()) {
    return UsageError("--stop_after: what is better is not known; want --keep_best=METRIC");
  }
  if (FLAGS_stop_after > 0 && !FLAGS_dump.empty()) {
    return UsageError(
        "--dump writes the last step's values, and --stop_after leaves open which "
        "step that is; want one of them");
  }
  RETURN_IF_ERROR(CheckAtLeast("reestimate_batch_norm", FLAGS_reestimate_batch_norm,
                               line.IsGiven("reestimate_batch_norm") ? 1 : 0));
  if (FLAGS_reestimate_batch_norm > 0 && !FLAGS_keep_best.empty()) {
    return UsageError(
        "--reestimate_batch_norm changes the last parameters, and --keep_best may save others; "
        "want one of them");
  }
  if (!FLAGS_keep_best.empty() && FLAGS_save.empty()) {
    return UsageError("--keep_best needs a folder for the parameters: --save=FOLDER");
  }
  if (FLAGS_dump.empty() != FLAGS_dump_output.empty()) {
    return UsageError("--dump says what to write and --dump_output where; want both or none");
  }
  if (FLAGS_checkpoint_dir.empty()) {
    for (const char* flag : {"checkpoint_every", "keep_checkpoints", "resume"}) {
      if (line.IsGiven(flag)) {
        return UsageError(absl::StrCat("--", flag, " needs a folder: --checkpoint_dir=FOLDER"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> Run(const CommandLine& line) {
  RETURN_IF_ERROR(CheckFlags(line));
  ASSIGN_OR_RETURN(const NetworkFlags flags, ReadNetworkFlags());
  TrainingCommand command;
  command.program = line.arguments[0];
  command.startup = FLAGS_startup;
  command.params = FLAGS_params;
  command.eval_program = FLAGS_eval_program;
  command.data = FLAGS_data;
  ASSIGN_OR_RETURN(command.training_data, DataOfFlag("data", FLAGS_data));
  if (!FLAGS_eval_data.empty()) {
    ASSIGN_OR_RETURN(command.test_data, DataOfFlag("eval_data", FLAGS_eval_data));
  } else if (HasTestPart(command.training_data)) {
    command.test_data = command.training_data;
  } else if (FLAGS_eval_every > 0) {
    return UsageError("--eval_every: there is nothing to evaluate on; want --eval_data=NAME");
  }
  command.variables = flags.variables;
  if (!FLAGS_keep_best.empty()) {
    if (!command.test_data) {
      return UsageError("--keep_best: there is nothing to evaluate on; want --eval_data=NAME");
    }
    command.keep_best = Metric::OfName(FLAGS_keep_best);
    command.keep_best_text = FLAGS_keep_best;
  }
  command.reestimated_batches = FLAGS_reestimate_batch_norm;
  command.stop_after = FLAGS_stop_after;
  command.epochs = FLAGS_epochs;
  command.steps = FLAGS_steps;
  command.batch_size = flags.batch_size;
  command.augmentation = {FLAGS_augment_padding, FLAGS_augment_flip};
  if (!FLAGS_learning_rate.empty()) {
    const absl::StatusOr<RateSchedule> schedule = RateSchedule::Parse(FLAGS_learning_rate);
    if (!schedule.ok()) {
      return UsageError(absl::StrCat("--learning_rate: ", schedule.status().message()));
    }
    command.learning_rate = *schedule;
    command.learning_rate_text = FLAGS_learning_rate;
  }
  command.eval_every = FLAGS_eval_every;
  command.backend = flags.backend;
  command.backend_options = flags.backend_options;
  const absl::StatusOr<BackwardPrecision> backward = BackwardPrecisionOfName(FLAGS_backward);
  if (!backward.ok()) return UsageError(absl::StrCat("--backward: ", backward.status().message()));
  const absl::Status exists = CheckBackward(flags.backend, *backward);
  if (!exists.ok()) {
    return absl::Status(exists.code(),
                        absl::StrCat("--backward=", FLAGS_backward, ": ", exists.message()));
  }
  command.backend_options.backward = *backward;
  command.backend_options.recomputing = FLAGS_recompute / 100.0;
  command.dump_plan = flags.dump_plan;
  command.save = FLAGS_save;
  command.metrics = FLAGS_metrics;
  command.report = FLAGS_report;
  command.dump = SplitNames(FLAGS_dump);
  command.dump_output = FLAGS_dump_output;
  command.checkpoint_dir = FLAGS_checkpoint_dir;
  command.checkpoint_every = FLAGS_checkpoint_every;
  command.keep_checkpoints = FLAGS_keep_checkpoints;
  command.resume = FLAGS_resume;
  Extensions extensions;
  RETURN_IF_ERROR(LoadPlugins(&extensions));
  const QuantizerTable quantizers = extensions.Quantizers();
  command.quantizers = &quantizers;
  return RunTrainingCommand(command);
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  const int code =
      fixpoint::RunTool(argc, argv, fixpoint::Help(), [argv](const fixpoint::CommandLine& line) {
        if (FLAGS_threads > 1) fixpoint::SpinBriefly(argv);
        return fixpoint::Run(line);
      });
  fixpoint::EndIfInterrupted();
  return code;
}
