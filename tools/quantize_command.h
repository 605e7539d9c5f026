// What `quantize` does: the whole way from a float network to one on integers.

#ifndef FIXPOINT_TOOLS_QUANTIZE_COMMAND_H_
#define FIXPOINT_TOOLS_QUANTIZE_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/data/data_source.h"
#include "runtime/loop_bound.h"
#include "runtime/training/network_variables.h"
#include "tools/command_line.h"
#include "tools/sample_flags.h"
#include "transpiler/quantize/network_cost.h"
#include "transpiler/quantize/weight_methods.h"

namespace fixpoint {

class Extensions;

struct QuantizeCommand {
  SampleFlags from;
  NetworkVariables variables;
  std::string config;
  std::string target;
  std::string quantizers;  // files, comma separated, beside the built-in ones
  bool fold_batch_norm = false;
  bool equalize = false;
  WeightMethods weights;
  std::string metric;                   // "": nothing is measured
  std::optional<DataSource> eval_data;  // none: the test part of the samples, or the samples
  std::optional<double> max_drop;
  std::optional<Budget> budget;
  bool with_times = true;
  bool json = false;
  int64_t batch_size = 1;
  int threads = 1;
  int64_t max_iterations = kDefaultMaxIterations;
  const Extensions* extensions = nullptr;  // not null: quantizers and checks beside the built-in
};

// The answer is no if no plan meets the bound; the best is written.
absl::StatusOr<ExitCode> RunQuantizeCommand(const QuantizeCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_QUANTIZE_COMMAND_H_
