// The modes of `transpile` that quantize a program, and undo it.

#ifndef FIXPOINT_TOOLS_TRAIN_MODES_H_
#define FIXPOINT_TOOLS_TRAIN_MODES_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/command_line.h"
#include "transpiler/pipeline/pipeline.h"

namespace fixpoint {

class Extensions;
class PassTable;

// --mode=train: quantizes `program`. Empty fields were not given.
struct TrainCommand {
  std::string program;
  std::string startup;
  std::string config;
  std::string target;      // a name or a path
  std::string quantizers;  // files of quantizers as text, comma separated
  std::string fc_weights;
  std::string plan;
  std::string profile;
  std::string output;          // beside the program by default
  std::string startup_output;  // beside the startup program, or else the output
  // Parameters of `program`, to which the initial values of its new variables are added, and where
  // to write them; beside the parameters by default.
  std::string params;
  std::string params_output;
  std::string save_plan;
  std::string patterns;  // a file whose patterns are among the passes, not to be written over
  const PassTable* passes = nullptr;       // null: the built-in ones
  const Extensions* extensions = nullptr;  // not null: quantizers and checks beside the built-in
  std::string pipeline;                    // one that ParseTrainPipeline accepts
  PipelineOptions pipeline_options;
  bool dry_run = false;
  bool explain = false;
  bool json = false;
};
absl::StatusOr<ExitCode> RunTrainCommand(const TrainCommand& command);

// --undo: writes `program` as it was before it was quantized. Empty output: beside it.
struct UndoCommand {
  std::string program;
  std::string output;
  bool dry_run = false;
};
absl::StatusOr<ExitCode> RunUndoCommand(const UndoCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_TRAIN_MODES_H_
