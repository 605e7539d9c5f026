#include "transpiler/freeze/estimation_program.h"

#include <utility>

#include "ops/op_schema.h"
#include "ops/quantizer_table.h"
#include "proto/base/status_macros.h"
#include "proto/program/rewriter.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/freeze_passes.h"
#include "transpiler/pipeline/pipeline.h"
#include "transpiler/plan/folded_weights.h"

namespace fixpoint {

absl::StatusOr<Program> MakeEstimationProgram(const Program& training) {
  const QuantizerTable quantizers;
  const PassTable passes = FreezePasses();
  ASSIGN_OR_RETURN(const Pipeline pipeline, Pipeline::Parse("strip_training", passes));
  FreezeContext context(quantizers);
  Program program = training.Clone();
  program.ClearEditLog();
  RETURN_IF_ERROR(pipeline.Run(program, context, {}));
  Rewriter rewriter(&program, "estimation_program");
  for (const Op& op : program.ops()) {
    if (op.type() != "batch_norm" && op.type() != kFoldedBatchNorm) continue;
    if (op.FindAttr(kTestFromStepAttr) == nullptr) continue;
    rewriter.RemoveInputs(op, kStepSlot);
    rewriter.RemoveAttr(op, kTestFromStepAttr);
  }
  program.ForgetEdits();
  return program;
}

}  // namespace fixpoint
