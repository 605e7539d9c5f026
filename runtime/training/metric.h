// How well a program does, as one number: by which evaluations are compared, and what quantizing
// may cost.

#ifndef FIXPOINT_RUNTIME_TRAINING_METRIC_H_
#define FIXPOINT_RUNTIME_TRAINING_METRIC_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "runtime/data/sample_set.h"
#include "runtime/scope.h"
#include "runtime/training/batch_runner.h"
#include "runtime/training/evaluator.h"
#include "runtime/training/measured.h"

namespace fixpoint {

class Metric {
 public:
  // "accuracy": the share of right answers, in percent; "loss"; or a variable of one number for
  // each batch, the mean of which is taken over all samples. Of the loss less is better, and of a
  // variable whose name is given with a "-" before it; of others more.
  static Metric OfName(absl::string_view name);

  const std::string& name() const { return name_; }
  // Of its values: "%", or "" for none.
  absl::string_view unit() const { return kind_ == Kind::kAccuracy ? "%" : ""; }
  // Whether it is neither accuracy nor loss; NetworkVariables::metrics then has to have its name.
  bool is_variable() const { return kind_ == Kind::kVariable; }

  // What an evaluation says of it; nothing where it was not measured, or is not finite.
  std::optional<double> In(const Evaluation& evaluation) const;
  bool IsBetter(double value, double than) const { return Drop(than, value) < 0; }
  // By how much `value` is worse than `reference`; negative if it is better.
  double Drop(double reference, double value) const {
    return less_is_better_ ? value - reference : reference - value;
  }

  // Error (kInvalidArgument), which says what there is: the program or the samples have nothing of
  // that name; it is the loss, and larger ones are said to be better.
  absl::Status CheckIsThere(const Program& program, const NetworkVariables& variables,
                            const SampleSet& set) const;
  // What a program reaches on all samples of a set; infinity, or minus that, for the worst there is
  // if that is not a finite number. Errors: those of Evaluator; kInvalidArgument: a sample is not
  // finite, where the options ask for that.
  absl::StatusOr<Measured> MeasureOrWorst(const Program& program, Scope* scope,
                                          const SampleSet& set, BatchRunOptions options) const;
  // The same. Error (kInvalidArgument): the metric is not finite.
  absl::StatusOr<Measured> Measure(const Program& program, Scope* scope, const SampleSet& set,
                                   BatchRunOptions options) const;

 private:
  enum class Kind { kAccuracy, kLoss, kVariable };

  Metric(Kind kind, absl::string_view name, bool less_is_better)
      : kind_(kind), name_(name), less_is_better_(less_is_better) {}

  // The number as it was measured.
  std::optional<Measured> MeasuredIn(const Evaluation& evaluation) const;

  Kind kind_;
  std::string name_;
  bool less_is_better_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_METRIC_H_
