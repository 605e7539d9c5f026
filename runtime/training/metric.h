// A number by which evaluations are compared: which of them is the best.

#ifndef FIXPOINT_RUNTIME_TRAINING_METRIC_H_
#define FIXPOINT_RUNTIME_TRAINING_METRIC_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/training/evaluator.h"

namespace fixpoint {

struct Metric {
  // "accuracy" and "loss" are those of an evaluation; another one is a variable, one of
  // NetworkVariables::metrics.
  std::string name;
  bool larger_is_better = true;

  bool is_variable() const { return name != "accuracy" && name != "loss"; }
  bool IsBetter(double value, double than) const {
    return larger_is_better ? value > than : value < than;
  }
  // What an evaluation says of it; nothing where it was not measured, or is not finite.
  std::optional<double> In(const Evaluation& evaluation) const;
};

// Reads "accuracy", "loss", or "max:NAME" or "min:NAME" of a variable. Error (kInvalidArgument): it
// is none of these.
absl::StatusOr<Metric> ParseMetric(absl::string_view text);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_METRIC_H_
