#include "transpiler/lower/lower.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "transpiler/freeze/lowered_already.h"
#include "transpiler/lower/lower_context.h"
#include "transpiler/lower/lower_passes.h"
#include "transpiler/lower/lowered_invariants.h"
#include "transpiler/lower/portable_codes.h"
#include "transpiler/pipeline/edit_verifier.h"
#include "transpiler/pipeline/taken_parameters.h"
#include "transpiler/sites/quantization_sites.h"

namespace fixpoint {
namespace {

// Why no parameter of a program is codes, and what to do.
std::string WhyNoCodes(const Program& program) {
  bool is_quantized = false;
  for (const Op& op : program.ops()) {
    const QuantOp kind = QuantOpOf(op);
    is_quantized = is_quantized || (kind != QuantOp::kNone && kind != QuantOp::kObserve);
  }
  if (!is_quantized) {
    return "is neither quantized nor frozen; want a program that was quantized, trained and frozen "
           "in the portable form (transpile, train, transpile --mode=freeze)";
  }
  if (WhyFrozen(program, QuantizerTable()).empty()) {
    return "is quantized and not frozen; freeze it first, with its trained parameters "
           "(transpile --mode=freeze), and lower the result";
  }
  return "no dequantize_linear reads codes, so there is nothing to lower; want a program "
         "that was frozen in the portable form (transpile --mode=freeze)";
}

}  // namespace

absl::Status CheckCanBeLowered(const Program& program) {
  RETURN_IF_ERROR(CheckIsNotLowered(program));
  bool has_codes_of_activations = false;
  bool quantizes_parameters = false;
  for (const Op& op : program.ops()) {
    const QuantOp kind = IsStepOfPortable(op) ? QuantOpOf(op) : QuantOp::kNone;
    const Argument* const x = kind != QuantOp::kNone ? FindCodeArguments(op).input : nullptr;
    if (x == nullptr) continue;
    const bool dequantizes = kind == QuantOp::kDequantize;
    const Variable* const holder = dequantizes ? HolderOfCodes(*x).variable() : x->variable();
    const bool is_parameter = holder != nullptr && holder->persistable();
    if (dequantizes && is_parameter) return absl::OkStatus();
    has_codes_of_activations = has_codes_of_activations || dequantizes;
    quantizes_parameters = quantizes_parameters || is_parameter;
  }
  // Products of activations alone have no parameters.
  if (has_codes_of_activations && !quantizes_parameters) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(program.name(), ": ", WhyNoCodes(program)));
}

absl::StatusOr<Pipeline> ParseLowerPipeline(absl::string_view text, const PassTable& passes) {
  return Pipeline::Parse(text, passes, {"frozen", "training_stripped", "trained_parameters"});
}

absl::StatusOr<LoweredModel> Lower(const Program& program, const Scope& scope,
                                   const LowerOptions& options) {
  RETURN_IF_ERROR(CheckCanBeLowered(program));
  RETURN_IF_ERROR(CheckVerifies(program));
  const PassTable built_in_passes = LowerPasses();
  const PassTable& passes = options.passes != nullptr ? *options.passes : built_in_passes;
  ASSIGN_OR_RETURN(
      const Pipeline pipeline,
      ParseLowerPipeline(options.pipeline.empty() ? kLowerPipeline : options.pipeline, passes));
  const QuantizerTable built_in;
  const QuantizerTable& quantizers = options.quantizers == nullptr ? built_in : *options.quantizers;
  LowerContext context(quantizers, scope);
  LoweredModel model{program.Clone(), Scope(), {}, {}};
  model.program.ClearEditLog();
  PipelineOptions pipeline_options = options.pipeline_options;
  pipeline_options.check_at_end = [&]() {
    // A pipeline of the caller's may end before anything is lowered.
    if (!context.lowered.empty()) {
      const Program& portable = context.portable ? *context.portable : program;
      RETURN_IF_ERROR(CheckLoweredProgram(portable, model.program, context));
    }
    const auto& own_check = options.pipeline_options.check_at_end;
    return own_check ? own_check() : absl::OkStatus();
  };
  RETURN_IF_ERROR(pipeline.Run(model.program, context, pipeline_options));
  model.program.ForgetEdits();
  ASSIGN_OR_RETURN(model.scope, TakeParameters(model.program, context.parameters.added, scope));
  model.ops = std::move(context.lowered);
  model.notes = std::move(context.notes);
  return model;
}

}  // namespace fixpoint
