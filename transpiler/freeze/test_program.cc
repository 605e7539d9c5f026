#include "transpiler/freeze/test_program.h"

#include <optional>
#include <utility>

#include "proto/base/status_macros.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/freeze_passes.h"
#include "transpiler/freeze/inference_invariants.h"
#include "transpiler/pipeline/pipeline.h"

namespace fixpoint {

absl::StatusOr<Program> MakeTestProgram(const Program& training, const QuantizerTable* quantizers) {
  std::optional<QuantizerTable> built_in;
  if (quantizers == nullptr) quantizers = &built_in.emplace();
  const PassTable passes = FreezePasses();
  ASSIGN_OR_RETURN(const Pipeline pipeline, Pipeline::Parse(kTestPipeline, passes));
  FreezeContext context(*quantizers);
  Program program = training.Clone();
  program.ClearEditLog();
  PipelineOptions options;
  options.check_at_end = [&]() { return CheckTestProgram(program, context); };
  RETURN_IF_ERROR(pipeline.Run(program, context, options));
  program.ForgetEdits();
  return program;
}

}  // namespace fixpoint
