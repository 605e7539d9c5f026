// The report of `train`: what was followed over the steps, and the ranges at the end.

#ifndef FIXPOINT_TOOLS_TRAINING_REPORT_H_
#define FIXPOINT_TOOLS_TRAINING_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "proto/config/run_report.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"
#include "runtime/training/batch_runner.h"
#include "runtime/training/evaluator.h"

namespace fixpoint {

class TrainingReport {
 public:
  explicit TrainingReport(const Program& training);

  // What a step gave. The learning rate is `rate` if it was fed, else that of the program's first
  // optimizer, after the step.
  void AddStep(int64_t step, const BatchResult& result, std::optional<double> rate,
               const Scope& scope);
  void AddEvaluation(int64_t step, const Evaluation& evaluation);

  // The report, with the ops of the program in test mode and the ranges of their quantizers.
  RunReport Finish(const Program& test, const Scope& trained,
                   const QuantizerTable& quantizers) const;

 private:
  // A number at every step as long as there are few, else at every second, fourth, ...
  struct Followed {
    RunReport::Curve curve;
    int64_t stride = 1;
    int64_t count = 0;
  };
  // Without a unit if that is null.
  void Add(absl::string_view name, int64_t step, double number, const char* unit = nullptr);

  std::string rate_variable_;  // "": the program has none
  std::vector<Followed> followed_;
  Evaluation last_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_TRAINING_REPORT_H_
