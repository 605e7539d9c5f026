// Minimize for a program that was transpiled first.

#ifndef FIXPOINT_TRANSPILER_TRAIN_MINIMIZE_QUANTIZED_H_
#define FIXPOINT_TRANSPILER_TRAIN_MINIMIZE_QUANTIZED_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/backward.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {

// Minimizes the builder's program, which Transpile rewrote with these options for inference,
// because it had no gradients: it becomes what Optimizer::Minimize followed by Transpile make of
// the original, with quantizers that follow their ranges in training, and trained ones. State is
// initialised in the builder's startup program, whatever `options.startup` says.
//
// Errors: kFailedPrecondition: the program was not transpiled, or is not with these options; those
// of Untranspile, Optimizer::Minimize and Transpile. Both programs are then as before.
absl::StatusOr<std::vector<ParameterGradient>> MinimizeQuantized(
    const Optimizer& optimizer, ProgramBuilder& net, absl::string_view loss,
    const TranspileOptions& options = {});

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_MINIMIZE_QUANTIZED_H_
