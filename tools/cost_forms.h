// A program as inference would run it, in float and on integers, planned before anything is trained
// or quantized.

#ifndef FIXPOINT_TOOLS_COST_FORMS_H_
#define FIXPOINT_TOOLS_COST_FORMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/planner.h"
#include "tools/named_config.h"
#include "transpiler/lower/lowered_op.h"

namespace fixpoint {

// What is planned for: what is fed, and the variables that are computed.
struct InferenceRequest {
  std::vector<executor::FeedType> feeds;
  std::vector<std::string> outputs;
};

struct PlannedForm {
  std::unique_ptr<const Program> program;  // of which the plan is
  executor::Plan plan;
  int64_t parameter_bytes = 0;  // as they are saved
};

// An op that stays on numbers.
struct FloatOp {
  LoweredOp lowered;  // as the portable program has it
  // Why it was not quantized in training, where that is why: a code of transpiler/plan/reasons.inc.
  std::string not_quantized;
};

struct ProgramForms {
  // As it is, but in test mode and without what trains it.
  PlannedForm given;
  std::string quantized_by;  // a sentence; "" of a float program
  // As it is lowered when it is trained. Nothing where that is not possible.
  std::optional<PlannedForm> integers;
  std::string why_not;
  std::vector<FloatOp> floats;  // of `integers`, in program order
};

// `program` stays as it is. What a lowering asks of parameters it is told by made-up ones.
// Errors: those of MakeTestProgram, executor::CheckOps and executor::MakePlan; kInvalidArgument:
// the extents of a parameter are not known; the configuration or the program is wrong. What else
// keeps the program from being quantized, frozen or lowered is `why_not`.
absl::StatusOr<ProgramForms> MakeProgramForms(const Program& program, const NamedConfig& config,
                                              const InferenceRequest& request);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_COST_FORMS_H_
