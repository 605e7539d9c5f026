// How well a program does, as one number: what a search may cost, and what is told in the end.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_METRIC_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_METRIC_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "runtime/data/sample_set.h"
#include "runtime/scope.h"
#include "runtime/training/batch_runner.h"

namespace fixpoint {

class Metric {
 public:
  // "accuracy": the share of right answers, in percent; "loss"; or a variable of one number for
  // each batch, the mean of which is taken over all samples. Of the loss less is better, and of a
  // variable whose name is given with a "-" before it; of others more.
  static Metric OfName(absl::string_view name);

  const std::string& name() const { return name_; }

  // Error (kInvalidArgument), which says what there is: the program or the samples have nothing of
  // that name.
  absl::Status CheckIsThere(const Program& program, const NetworkVariables& variables,
                            const SampleSet& set) const;

  // What a program reaches on all samples of a set. Errors: those of Evaluator and BatchRunner;
  // kInvalidArgument: the variable is not one number, or not finite.
  absl::StatusOr<double> Measure(const Program& program, Scope* scope, const SampleSet& set,
                                 const BatchRunOptions& options) const;

  // By how much `value` is worse than `reference`; negative if it is better.
  double Drop(double reference, double value) const {
    return less_is_better_ ? value - reference : reference - value;
  }

 private:
  enum class Kind { kAccuracy, kLoss, kVariable };

  Metric(Kind kind, absl::string_view name, bool less_is_better)
      : kind_(kind), name_(name), less_is_better_(less_is_better) {}

  Kind kind_;
  std::string name_;
  bool less_is_better_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_METRIC_H_
