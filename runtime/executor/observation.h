// Values that a run shows while it computes them, so that none of them has to be kept.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OBSERVATION_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OBSERVATION_H_

#include <functional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fixpoint::executor {

struct Observation {
  // The number by which each variable is shown, whatever its block; parameters are not shown.
  absl::flat_hash_map<std::string, int> variables;
  // Gets the elements of an FP32 value, in whatever layout it is held, right after the step
  // that computes it: a feed before the first step, the value of an op in a loop in each iteration.
  // The span is valid during the call. An error ends the run.
  std::function<absl::Status(int variable, absl::Span<const float> elements)> show;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OBSERVATION_H_
