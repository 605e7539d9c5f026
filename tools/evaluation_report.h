// An evaluation for people and for programs.

#ifndef FIXPOINT_TOOLS_EVALUATION_REPORT_H_
#define FIXPOINT_TOOLS_EVALUATION_REPORT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "runtime/training/evaluator.h"
#include "tools/json.h"

namespace fixpoint {

// "91.00 %", of a number in percent; "0.2511" without a unit.
std::string MeasuredText(double number, absl::string_view unit);

// "loss 0.2511, accuracy 91.00 %, auc_0.tmp_0 0.9712": what was measured.
std::string EvaluationText(const Evaluation& evaluation);

// The same as members of the object that is open, each name after `prefix`; the accuracy is a share
// of 1.
void WriteEvaluation(const Evaluation& evaluation, absl::string_view prefix, JsonWriter& json);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_EVALUATION_REPORT_H_
