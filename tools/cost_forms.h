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
#include "ops/quantizer_table.h"
#include "proto/program/program_fwd.h"
#include "runtime/executor/inference_plan.h"
#include "runtime/executor/plan.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {

enum class IntegerReason;  // ops/codes/integer_reasons.h

using executor::InferenceRequest;

struct PlannedForm {
  std::unique_ptr<const Program> program;  // the program that is planned
  executor::Plan plan;
  int64_t parameter_bytes = 0;  // as they are saved
};

// An op that stays in float, named by its type and its first output: its place is that in a program
// that the user does not have.
struct FloatOp {
  std::string type;
  std::string output;
  IntegerReason reason;
  // If the reason is that it was not quantized in training, the code from
  // transpiler/plan/reasons.inc.
  std::string not_quantized;
};

struct ProgramForms {
  // The program in test mode, without its training ops.
  PlannedForm given;
  std::string quantized_by;  // a sentence; "" for a float program
  // The program as it will be lowered once it is trained. Empty where that is not possible.
  std::optional<PlannedForm> integers;
  std::string why_not;
  std::vector<FloatOp> floats;  // of `integers`, in program order
};

// `program` is not changed. Lowering is run on made-up parameters. Errors name the program: those
// of MakeTestProgram, executor::CheckOps and executor::MakePlan; kInvalidArgument: the extents of a
// parameter are not known, or the configuration or the program is wrong. `why_not` has any other
// reason that the program cannot be quantized, frozen or lowered.
absl::StatusOr<ProgramForms> MakeProgramForms(const Program& program, const TranspileOptions& how,
                                              const InferenceRequest& request);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_COST_FORMS_H_
