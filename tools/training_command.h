// What `train` does with its command line.

#ifndef FIXPOINT_TOOLS_TRAINING_COMMAND_H_
#define FIXPOINT_TOOLS_TRAINING_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "runtime/backends.h"
#include "runtime/data/augmentation.h"
#include "runtime/data/data_source.h"
#include "runtime/training/metric.h"
#include "runtime/training/network_variables.h"
#include "runtime/training/rate_schedule.h"
#include "tools/command_line.h"

namespace fixpoint {

struct TrainingCommand {
  std::string program;
  std::string startup;
  std::string params;        // parameters to start from, a folder or a combined file; "": none
  std::string eval_program;  // "": a test program is made from the program
  std::string data;          // as named on the command line
  DataSource training_data;
  std::optional<DataSource> test_data;  // none: it is not evaluated
  NetworkVariables variables;           // "": found

  int64_t epochs = 0;
  int64_t steps = 0;  // 0: as many as the epochs have
  int64_t batch_size = 0;
  Augmentation augmentation;                  // of images, in training
  std::optional<RateSchedule> learning_rate;  // none: the program's
  std::string learning_rate_text;             // as named on the command line
  int64_t eval_every = 0;                     // steps; 0: only after the last
  std::optional<Metric> keep_best;            // none: the last parameters are saved
  std::string keep_best_text;                 // as named on the command line
  int64_t reestimated_batches = 0;            // 0: batch norm keeps its running statistics
  int64_t stop_after = 0;  // evaluations without a better one; 0: as many as there are
  BackendKind backend = kDefaultBackend;
  BackendOptions backend_options;
  bool dump_plan = false;

  std::string save;     // a folder; "" here and below: none
  std::string metrics;  // a file
  std::string report;   // a file
  std::vector<std::string> dump;
  std::string dump_output;

  std::string checkpoint_dir;
  int64_t checkpoint_every = 0;  // steps; 0: only after the last
  int keep_checkpoints = 0;
  bool resume = false;

  const QuantizerTable* quantizers = nullptr;  // not null
};

absl::StatusOr<ExitCode> RunTrainingCommand(const TrainingCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_TRAINING_COMMAND_H_
