#include "transpiler/lower.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/verifier.h"
#include "proto/status_macros.h"
#include "transpiler/lowered_already.h"
#include "transpiler/lowered_invariants.h"
#include "transpiler/taken_parameters.h"

namespace fixpoint {
namespace {

// Error (kFailedPrecondition): there is nothing to lower, or nothing left to.
absl::Status CheckCanBeLowered(const Program& program) {
  RETURN_IF_ERROR(CheckIsNotLowered(program));
  bool has_codes = false;
  for (int b = 0; b < program.block_count(); ++b) {
    for (const Op& op : program.block(b).ops()) {
      const bool dequantizes =
          op.type() == "dequantize_linear" || op.type() == "fake_row_wise_dequantize";
      const Argument* const x = dequantizes ? op.Input("X") : nullptr;
      has_codes =
          has_codes || (x != nullptr && x->variable() != nullptr && x->variable()->persistable());
    }
  }
  if (has_codes) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(program.name(),
                   ": no dequantize_linear reads a parameter, so there is nothing to lower; want a "
                   "program that was frozen in the portable form (transpile --mode=freeze)"));
}

// Error (kInvalidArgument): the verifier finds an error; the first one.
absl::Status CheckIsRight(const Program& program) {
  for (const Finding& finding : Verify(program)) {
    if (finding.severity != Severity::kError) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(program.name(), program.name().empty() ? "" : ": ",
                     finding.op != nullptr ? Describe(*finding.op)
                                           : absl::StrCat("block ", finding.block->index()),
                     ": ", finding.message));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoweredModel> Lower(const Program& program, const Scope& scope,
                                   const LowerOptions& options) {
  RETURN_IF_ERROR(CheckCanBeLowered(program));
  RETURN_IF_ERROR(CheckIsRight(program));
  std::optional<PassTable> built_in;
  const PassTable& passes = options.passes != nullptr ? *options.passes : built_in.emplace();
  ASSIGN_OR_RETURN(const Pipeline pipeline,
                   Pipeline::Parse(options.pipeline.empty() ? kLowerPipeline : options.pipeline,
                                   passes, {"frozen", "training_stripped", "trained_parameters"}));
  const QuantizerTable quantizers;
  PassContext context(quantizers);
  context.freeze.trained = &scope;
  LoweredModel model{program.Clone(), Scope(), {}, {}};
  model.program.ClearEditLog();
  PipelineOptions pipeline_options = options.pipeline_options;
  pipeline_options.check_at_end = [&]() {
    // A pipeline of the caller's may end before anything is lowered.
    if (!context.lowered.empty()) {
      RETURN_IF_ERROR(CheckLoweredProgram(program, model.program, context));
    }
    const auto& own_check = options.pipeline_options.check_at_end;
    return own_check ? own_check() : absl::OkStatus();
  };
  RETURN_IF_ERROR(pipeline.Run(model.program, context, pipeline_options));
  model.program.ForgetEdits();
  ASSIGN_OR_RETURN(model.scope,
                   TakeParameters(model.program, context.freeze.new_parameters, scope));
  model.ops = std::move(context.lowered);
  model.notes = std::move(context.notes);
  return model;
}

}  // namespace fixpoint
