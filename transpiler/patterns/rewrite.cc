#include "transpiler/patterns/rewrite.h"

#include <memory>
#include <utility>
#include <vector>

#include "ops/quantizer_table.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/cleanup/cleanup_passes.h"
#include "transpiler/pipeline/edit_log.h"
#include "transpiler/pipeline/marks.h"

namespace fixpoint {

absl::StatusOr<PassTable> RewritePasses(absl::Span<const Pattern> patterns) {
  std::vector<std::unique_ptr<Pass>> cleanup;
  AddCleanupPasses(&cleanup);
  PassTable passes(std::move(cleanup));
  RETURN_IF_ERROR(AddPatternPasses(patterns, &passes));
  return passes;
}

absl::StatusOr<RewriteReport> Rewrite(Program* program, absl::Span<const Pattern> patterns,
                                      const RewriteOptions& options) {
  ASSIGN_OR_RETURN(const PassTable built_in_passes, RewritePasses(patterns));
  const PassTable& passes = options.passes == nullptr ? built_in_passes : *options.passes;
  ASSIGN_OR_RETURN(const Pipeline pipeline, Pipeline::Parse(options.pipeline, passes));
  const QuantizerTable built_in;
  const QuantizerTable& quantizers = options.quantizers == nullptr ? built_in : *options.quantizers;
  RewriteContext context(quantizers, options.explain);
  context.raised_types = options.raised_types;
  const bool was_quantized = IsMarked(*program);
  RETURN_IF_ERROR(pipeline.Run(*program, context, options.pipeline_options));
  context.report.is_changed = program->edited();
  if (program->edited()) StoreEditLog(program).set_prepares(!was_quantized);
  return std::move(context.report);
}

}  // namespace fixpoint
