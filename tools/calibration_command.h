// What `calibrate` does: runs a program on samples, and writes a profile of its values.

#ifndef FIXPOINT_TOOLS_CALIBRATION_COMMAND_H_
#define FIXPOINT_TOOLS_CALIBRATION_COMMAND_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/calibration/observed_variables.h"
#include "runtime/loop_bound.h"
#include "runtime/training/network_variables.h"
#include "tools/command_line.h"
#include "tools/sample_flags.h"

namespace fixpoint {

struct CalibrationCommand {
  SampleFlags from;  // the samples: the first of those that the seed orders
  NetworkVariables variables;
  int64_t batch_size = 1;  // samples that are read, and given to the threads, at a time
  int64_t save_every = 0;  // samples, after which the profile so far is saved
  ObservedOutputs outputs = ObservedOutputs::kNone;
  int threads = 1;
  int64_t max_iterations = kDefaultMaxIterations;
};

absl::StatusOr<ExitCode> RunCalibrationCommand(const CalibrationCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_CALIBRATION_COMMAND_H_
