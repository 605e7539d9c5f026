// From a float program for inference, its parameters and samples to a program on integers, checked:
// the whole way in one call.
//
//   ASSIGN_OR_RETURN(QuantizedNetwork net, Quantize(program, parameters, {&samples}, options));
//   RETURN_IF_ERROR(WriteQuantizedNetwork(net, "lenet.int8"));

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_QUANTIZE_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_QUANTIZE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_config.pb.h"
#include "proto/program/program.h"
#include "runtime/data/sample_set.h"
#include "runtime/loop_bound.h"
#include "runtime/scope.h"
#include "runtime/training/metric.h"
#include "runtime/training/network_variables.h"
#include "transpiler/pipeline/input_error.h"
#include "transpiler/plan/target_check.h"
#include "transpiler/prepare/prepare.h"
#include "transpiler/quantize/network_cost.h"
#include "transpiler/quantize/quantized_network.h"
#include "transpiler/quantize/weight_methods.h"

namespace fixpoint {

// The target if a configuration names none: that in which simulated, portable and lowered programs
// round alike, and which computes most on integers.
inline constexpr char kDeployedTarget[] = "onednn_int8";

struct QuantizeData {
  const SampleSet* samples = nullptr;   // on which ranges are found
  std::string name;                     // for readers of the profile
  const SampleSet* measured = nullptr;  // on which the metric is measured; null: on `samples`
};

struct QuantizeOptions {
  QuantConfig config;
  InputNames names;
  // A user's own quantizers, with the texts that some are read from, by which a run that goes on
  // knows them, and checks of targets; null: the built-in ones.
  const QuantizerTable* quantizers = nullptr;
  std::string quantizer_texts;
  const CheckTable* checks = nullptr;
  PrepareOptions prepare;
  // The variables of the program, where it does not tell (FindNetworkVariables), and what it is
  // fed.
  NetworkVariables named;
  NetworkInputs inputs = NetworkInputs::kImages;
  std::vector<std::string> outputs;  // what the result computes; empty: what the program fetches

  int64_t samples = 300;  // at most, for ranges
  uint64_t seed = 0;      // which samples those are
  int64_t batch_size = 64;
  int threads = 1;
  int64_t max_iterations = kDefaultMaxIterations;

  WeightMethods weights;

  std::optional<Metric> metric;  // none: nothing is measured
  // At most one of these two: by how much the metric may be worse than in float; what the lowered
  // network may take. Then a search leaves layers in float, or with 8 bits where fewer are
  // configured (transpiler/quantize/level_search.h).
  std::optional<double> max_drop;
  std::optional<Budget> budget;

  // Whether the report has expected times, for which kernels of this machine are measured.
  bool with_times = true;

  // A folder in which the profile and what the search has measured are saved; "": nowhere. With
  // `resume`, the run goes on from what is there.
  std::string state_folder;
  bool resume = false;

  // Where the work is: what is done, "calibrate", how often it was, and how often it will have
  // been; 0 where that is not known.
  std::function<void(const char* what, int64_t done, int64_t of)> progress;
};

// Prepares a float program for inference, runs it on samples for ranges, quantizes, freezes and
// lowers it, compares the forms and measures them. `program` and `parameters` are not changed.
// Where no plan meets the bound, the result is that of the best that was tried. Errors:
// kInvalidArgument: there is no output; those of CheckVariances, Prepare,
// FindNetworkVariables, CalibrationRun, Simulate, Freeze, Lower, CheckFormsAgree and Metric.
absl::StatusOr<QuantizedNetwork> Quantize(const Program& program, const Scope& parameters,
                                          const QuantizeData& data, const QuantizeOptions& options);

// Removes what Quantize has saved in a state folder, once it is not needed any more.
void RemoveQuantizeState(const std::string& state_folder);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_QUANTIZE_H_
