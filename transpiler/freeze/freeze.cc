#include "transpiler/freeze/freeze.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ops/code_ops.h"
#include "ops/op_schema.h"
#include "ops/requantization.h"
#include "proto/base/status_macros.h"
#include "proto/program/rewriter.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/freeze_passes.h"
#include "transpiler/freeze/inference_invariants.h"
#include "transpiler/freeze/lowered_already.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/pipeline/taken_parameters.h"
#include "transpiler/sites/known_ranges.h"
#include "transpiler/sites/quantization_sites.h"

namespace fixpoint {
namespace {

// Error (kFailedPrecondition): there is nothing to freeze, or everything is frozen already.
absl::Status CheckCanBeFrozen(const Program& program, const QuantizerTable& quantizers) {
  RETURN_IF_ERROR(CheckIsNotLowered(program));
  if (const std::string why = WhyFrozen(program, quantizers); !why.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(program.name(), ": is frozen already: ", why));
  }
  for (const Op& op : program.ops()) {
    if (IsQuantize(op, quantizers)) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(program.name(),
                   ": has no op that quantizes, so there is nothing to freeze; transpile it "
                   "and train it first"));
}

// Error (kInvalidArgument): a bias is rounded to integers, and no pass stores them.
absl::Status CheckBiasesAreStored(const Program& program, const Pipeline& pipeline) {
  for (const Pass* pass : pipeline.passes()) {
    for (const std::string& fact : pass->Establishes()) {
      if (fact == "biases_quantized") return absl::OkStatus();
    }
  }
  for (const Op& op : program.ops()) {
    if (op.type() != kQuantizeBias) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "pipeline: ", DescribeInFile(op), " rounds a bias to integers, and no pass ", "of ",
        pipeline.ToText(), " stores them; add quantize_biases after quantize_weights"));
  }
  return absl::OkStatus();
}

// Error (kUnimplemented): the legacy forms have no op for what an op of the program computes.
absl::Status CheckCanBeLegacy(const Program& program) {
  for (const Op& op : program.ops()) {
    if (op.type() != kRequantize) continue;
    return absl::UnimplementedError(absl::StrCat(
        DescribeInFile(op),
        ": requantizes by a multiplier and a shift, which the legacy forms have no op for; want "
        "the portable form"));
  }
  return absl::OkStatus();
}

bool IsOfQuantization(const Op& op) { return QuantOpOf(op) != QuantOp::kNone; }

bool ReadsQuantized(const Op& op) {
  const auto is_quantized = [](const Argument* input) {
    const Value* value = input->value();
    return value != nullptr && value->op() != nullptr && IsOfQuantization(*value->op());
  };
  return std::any_of(op.inputs().begin(), op.inputs().end(), is_quantized);
}

// Error (kInvalidArgument): an op that quantizes or dequantizes, or reads the result of one, names
// an undeclared variable. Its replacement needs the declaration.
absl::Status CheckDeclared(const Program& program) {
  for (const Op& op : program.ops()) {
    if (!IsOfQuantization(op) && !ReadsQuantized(op)) continue;
    for (const auto arguments : {op.inputs(), op.outputs()}) {
      for (const Argument* argument : arguments) {
        const Variable* variable = argument->variable();
        if (variable == nullptr || variable->desc() != nullptr) continue;
        return absl::InvalidArgumentError(absl::StrCat(
            program.name(), ": ", Describe(op), ": ", argument->is_output() ? "output " : "input ",
            std::string(argument->slot_name()), argument->is_output() ? " writes \"" : " reads \"",
            variable->name(), "\", which no block declares"));
      }
    }
  }
  return absl::OkStatus();
}

// What ops read before they were quantized is gone, so no mark can lead back to it.
void DropMarksOfChange(Program* program) {
  Rewriter rewriter(program, "freeze");
  for (const Op& op : program->ops()) rewriter.RemoveAttr(op, kRewiredAttr);
}

}  // namespace

absl::StatusOr<Pipeline> ParseFreezePipeline(absl::string_view text, FrozenForm form,
                                             const PassTable& passes) {
  ASSIGN_OR_RETURN(Pipeline pipeline, Pipeline::Parse(text, passes, {"trained_parameters"}));
  const auto wrong = [](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("pipeline: ", parts...));
  };
  std::set<std::string> hold;
  for (const Pass* pass : pipeline.passes()) {
    for (const std::string& fact : pass->Consumes()) hold.erase(fact);
    for (const std::string& fact : pass->Establishes()) {
      if (fact == "products_dequantized" && form == FrozenForm::kPortable) {
        return wrong(pass->name(), " is for the legacy forms");
      }
      hold.insert(fact);
    }
  }
  for (const char* fact :
       {"test_mode", "observers_frozen", "scales_frozen", "weights_quantized", "pruned"}) {
    if (hold.count(fact) == 0) {
      return wrong("after ", pipeline.ToText(), ", \"", fact, "\" does not hold; ",
                   FreezePipelineOf(form), " freezes a program");
    }
  }
  return pipeline;
}

std::string FreezePipelineOf(const FreezeOptions& options) {
  const std::string pipeline = FreezePipelineOf(options.form);
  if (!options.pack_tables.has_value()) return pipeline;
  return absl::StrReplaceAll(pipeline, {{",quantize_weights,", ",pack_tables,quantize_weights,"}});
}

absl::StatusOr<FrozenModel> Freeze(const Program& program, const Scope& scope,
                                   const FreezeOptions& options) {
  std::optional<QuantizerTable> built_in;
  const QuantizerTable& quantizers =
      options.quantizers != nullptr ? *options.quantizers : built_in.emplace();
  RETURN_IF_ERROR(CheckCanBeFrozen(program, quantizers));
  RETURN_IF_ERROR(CheckDeclared(program));
  RETURN_IF_ERROR(CheckRangesAreKnown(program, scope, quantizers));
  const PassTable built_in_passes = FreezePasses();
  const PassTable& passes = options.passes != nullptr ? *options.passes : built_in_passes;
  const std::string text = options.pipeline.empty() ? FreezePipelineOf(options) : options.pipeline;
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParseFreezePipeline(text, options.form, passes));
  RETURN_IF_ERROR(CheckBiasesAreStored(program, pipeline));
  if (options.form != FrozenForm::kPortable) RETURN_IF_ERROR(CheckCanBeLegacy(program));
  FreezeContext context(quantizers, &scope);
  context.feeds = options.feeds;
  context.fetches = options.fetches;
  context.form = options.form;
  context.allow_dynamic = options.allow_dynamic;
  context.table_format = options.pack_tables.value_or(context.table_format);

  FrozenModel model{program.Clone(), Scope(), {}, {}};
  model.program.ClearEditLog();
  PipelineOptions pipeline_options = options.pipeline_options;
  pipeline_options.check_at_end = [&]() {
    RETURN_IF_ERROR(CheckFrozenProgram(model.program, context));
    const auto& own_check = options.pipeline_options.check_at_end;
    return own_check ? own_check() : absl::OkStatus();
  };
  RETURN_IF_ERROR(pipeline.Run(model.program, context, pipeline_options));
  DropMarksOfChange(&model.program);
  model.program.ForgetEdits();
  ASSIGN_OR_RETURN(model.scope, TakeParameters(model.program, context.parameters.added, scope));
  model.weights = context.quantized_weights;
  model.notes = std::move(context.notes);
  const std::string& last = options.pipeline_options.stop_after;
  const auto is_last = [&last](const Pass* pass) { return pass->name() == last; };
  if (!last.empty() &&
      std::any_of(pipeline.passes().begin(), pipeline.passes().end() - 1, is_last)) {
    model.notes.push_back(absl::StrCat("the pipeline ended after ", last,
                                       ": the program is only partly frozen, and not checked"));
  }
  return model;
}

}  // namespace fixpoint
