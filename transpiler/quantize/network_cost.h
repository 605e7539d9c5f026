// What a network takes: the bytes of its parameters, or the expected time of a run.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_NETWORK_COST_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_NETWORK_COST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "runtime/data/sample_set.h"
#include "runtime/executor/inference_plan.h"
#include "runtime/scope.h"
#include "runtime/training/network_variables.h"

namespace fixpoint {

struct Budget {
  enum class Of { kBytes, kMilliseconds };
  Of of = Of::kBytes;
  double most = 0;

  // "4MB", "300KB", "20000B" (powers of 1000), "2ms" or "0.5ms". Error (kInvalidArgument): it is
  // none of these, or not above 0.
  static absl::StatusOr<Budget> Parse(absl::string_view text);
};

// "20000 bytes" or "0.532 ms".
std::string CostText(Budget::Of of, double cost);

// Bytes of those of the program's parameters that a scope has.
int64_t ParameterBytes(const Program& program, const Scope& scope);

// What the steps that an op runs take.
struct OpCost {
  double multiply_adds = 0;
  std::optional<double> milliseconds;
};

// What a network takes, and what a run of it takes on one thread (runtime/executor/cost.h); times
// if they are asked for.
struct NetworkCost {
  int64_t parameter_bytes = 0;
  int64_t activation_bytes = 0;  // the peak that values take
  double multiply_adds = 0;
  double integer_multiply_adds = 0;
  std::optional<double> milliseconds;
  std::map<std::string, OpCost> by_output;  // by the first output of the op
};

// The request for one sample, the first of a set. Errors: those of FedBatches and Batcher.
absl::StatusOr<executor::InferenceRequest> RequestForOne(const Program& program,
                                                         const NetworkVariables& variables,
                                                         std::vector<std::string> outputs,
                                                         const SampleSet& set);

// `with_times`: times are those that are expected on this machine, the kernels of which are
// measured when they are first asked for. Errors: those of PlanInference.
absl::StatusOr<NetworkCost> CostOfNetwork(const Program& program, const Scope& scope,
                                          const executor::InferenceRequest& request,
                                          bool with_times);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_NETWORK_COST_H_
