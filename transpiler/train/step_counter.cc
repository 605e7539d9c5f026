#include "transpiler/train/step_counter.h"

#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/marks.h"

namespace fixpoint {
namespace {

constexpr char kStepCounter[] = "@STEP_COUNTER@";

}  // namespace

absl::StatusOr<std::string> AddStepCounter(const Program& program, absl::string_view pass,
                                           StateWriter* state, Rewriter* rewriter) {
  const Variable* found = program.Find(program.block(0), kStepCounter);
  if (found != nullptr && found->persistable()) {
    for (const Argument* argument : found->arguments()) {
      if (argument->is_output() && argument->op().type() == "increment") return found->name();
    }
  }
  ASSIGN_OR_RETURN(std::string name, state->Declare(kStepCounter, VarType::INT64, {1}, 0));
  rewriter->Prepend(program.block(0), OpBuilder("increment")
                                          .Input("X", name)
                                          .Output("Out", name)
                                          .FloatAttr("step", 1.0f)
                                          .IntAttr("op_role", kForward)
                                          .StringAttr(kInsertedByAttr, pass)
                                          .Build());
  return name;
}

}  // namespace fixpoint
