#include "transpiler/prepare/prepare.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/wire/program.pb.h"
#include "transpiler/composites/composite_map.h"
#include "transpiler/pipeline/edit_log.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/pipeline/taken_parameters.h"
#include "transpiler/prepare/prepare_context.h"
#include "transpiler/prepare/prepare_passes.h"

namespace fixpoint {
namespace {

// Error (kFailedPrecondition): it is no float program for inference.
absl::Status CheckCanBePrepared(const Program& program) {
  const auto refused = [&program](const auto&... why) {
    return absl::FailedPreconditionError(absl::StrCat(program.name(), ": ", why...));
  };
  if (IsMarked(program)) {
    return refused("was transpiled already; prepare the float program, and transpile that");
  }
  for (const Op& op : program.ops()) {
    if ((op.role() & (kBackward | kOptimize | kLearningRate)) != 0) {
      return refused(DescribeInFile(op),
                     " belongs to training; want a program for inference, as --mode=test makes it");
    }
    const QuantOp quant_op = QuantOpOf(op);
    if (quant_op != QuantOp::kNone && quant_op != QuantOp::kObserve) {
      return refused(DescribeInFile(op), " quantizes or dequantizes; want a float program");
    }
  }
  return absl::OkStatus();
}

// What each pass did to the ops of the program that was given.
std::vector<PreparedOp> OpsOf(const Program& program, const Pipeline& pipeline) {
  std::vector<const Op*> edited;
  for (int b = 0; b < program.block_count(); ++b) {
    std::vector<const Op*> of_block;
    for (const Op& op : program.block(b).ops()) {
      if (op.changed()) of_block.push_back(&op);
    }
    for (const Op* op : program.block(b).removed_ops()) of_block.push_back(op);
    std::sort(of_block.begin(), of_block.end(),
              [](const Op* x, const Op* y) { return x->OriginalIndex() < y->OriginalIndex(); });
    edited.insert(edited.end(), of_block.begin(), of_block.end());
  }
  std::vector<PreparedOp> ops;
  for (const Pass* pass : pipeline.passes()) {
    for (const Op* op : edited) {
      if (!op->EditedBy(pass->name())) continue;
      const OpDesc original = op->OriginalSlots();
      std::string output;
      for (const OpDesc::Var& slot : original.outputs()) {
        if (output.empty() && slot.arguments_size() > 0) output = slot.arguments(0);
      }
      ops.push_back({op->block().index(), op->OriginalIndex(), op->type(), std::move(output),
                     std::string(pass->name()), op->removed()});
    }
  }
  return ops;
}

// Whether an op that writes a component is gone, without which raise_composites refuses.
bool LacksComponent(const CompositeMap::Composite& composite, const std::vector<PreparedOp>& ops) {
  for (const CompositeMap::Component& component : composite.components()) {
    const int block = component.has_block() ? component.block() : composite.block();
    if (std::any_of(ops.begin(), ops.end(), [&](const PreparedOp& op) {
          return op.removed && op.block == block && op.output == component.variable();
        })) {
      return true;
    }
  }
  return false;
}

absl::Status NoteComposites(const Program& program, const std::vector<PreparedOp>& ops,
                            std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(const CompositeMap map, ReadCompositeMap(program));
  int count = 0;
  OpDesc first;
  for (const CompositeMap::Composite& composite : map.composites()) {
    if (!LacksComponent(composite, ops)) continue;
    if (count++ == 0) first.ParsePartialFromString(composite.op());
  }
  if (count == 0) return absl::OkStatus();
  notes->push_back(
      absl::StrCat("composites that cannot be given back any more, because parameters alone decide "
                   "some of their components, which were computed: ",
                   count, ", the first is ", first.type(),
                   "; prepare before expand_composites where they are to be"));
  return absl::OkStatus();
}

}  // namespace

std::string PreparePipelineOf(const PrepareOptions& options) {
  std::string passes =
      "separate_writes,fold_constants,inline_shapes,remove_identities,inline_scalars,"
      "flatten_biases,hoist_functions";
  if (options.fold_batch_norm || options.equalize_weights) passes += ",fold_batch_norm";
  if (options.equalize_weights) passes += ",equalize_weights";
  if (options.add_biases) passes += ",add_biases";
  if (options.split_layer_norms) passes += ",split_layer_norms";
  return passes + ",remove_dead_variables";
}

absl::StatusOr<Pipeline> ParsePreparePipeline(absl::string_view text, const PassTable& passes) {
  return Pipeline::Parse(text, passes, {"trained_parameters", "training_stripped"});
}

absl::StatusOr<PreparedModel> Prepare(const Program& program, const Scope& scope,
                                      const PrepareOptions& options) {
  RETURN_IF_ERROR(CheckCanBePrepared(program));
  const QuantizerTable built_in;
  const QuantizerTable& quantizers = options.quantizers == nullptr ? built_in : *options.quantizers;
  const PassTable built_in_passes = PreparePasses();
  const PassTable& passes = options.passes == nullptr ? built_in_passes : *options.passes;
  const std::string text = options.pipeline.empty() ? PreparePipelineOf(options) : options.pipeline;
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePreparePipeline(text, passes));
  PrepareContext context(quantizers, scope);
  PreparedModel model{program.Clone(), Scope(), {}, {}};
  RETURN_IF_ERROR(pipeline.Run(model.program, context, options.pipeline_options));
  ASSIGN_OR_RETURN(model.scope, TakeParameters(model.program, context.parameters.added, scope));
  model.ops = OpsOf(model.program, pipeline);
  if (model.program.edited()) StoreEditLog(&model.program).set_prepares(true);
  model.notes = std::move(context.notes);
  RETURN_IF_ERROR(NoteComposites(program, model.ops, &model.notes));
  return model;
}

}  // namespace fixpoint
