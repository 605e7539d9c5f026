// // `infer --bench`: how fast a program runs, and how much memory it takes.

#ifndef FIXPOINT_TOOLS_BENCH_COMMAND_H_
#define FIXPOINT_TOOLS_BENCH_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/data_source.h"
#include "runtime/loop_bound.h"
#include "runtime/training/network_variables.h"
#include "tools/command_line.h"
#include "tools/inference_inputs.h"

namespace fixpoint {

struct BenchCommand {
  std::string program;
  std::string params;  // "": the program has none

  // Arrays; or, if this is set, the first batch of samples. Other inputs are random floats, or
  // zeros where they are integers.
  std::vector<NamedFile> feeds;
  std::optional<DataSource> data;
  std::vector<std::string> fetches;  // none: what the program fetches, or the scores
  NetworkVariables variables;        // if the program fetches nothing; "": found
  int64_t batch_size = 0;

  double seconds = 0;
  int threads = 1;
  int64_t max_iterations = kDefaultMaxIterations;
  bool dump_plan = false;
  bool profile = false;
  bool json = false;
};

// Runs the program by a Predictor (runtime/predictor.h).
absl::StatusOr<ExitCode> RunBenchCommand(const BenchCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_BENCH_COMMAND_H_
