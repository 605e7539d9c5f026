#include "transpiler/train/minimize_quantized.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/marks.h"

namespace fixpoint {

absl::StatusOr<std::vector<ParameterGradient>> MinimizeQuantized(const Optimizer& optimizer,
                                                                 ProgramBuilder& net,
                                                                 absl::string_view loss,
                                                                 const TranspileOptions& options) {
  std::vector<ParameterGradient> parameters;
  RETURN_IF_ERROR(net.AllOrNothing([&](ProgramBuilder& attempt) -> absl::Status {
    Program& program = attempt.main();
    if (!IsMarked(program)) {
      return absl::FailedPreconditionError(
          absl::StrCat(program.name(), program.name().empty() ? "" : ": ",
                       "the program was not transpiled; want Optimizer::Minimize"));
    }
    RETURN_IF_ERROR(Untranspile(&program));
    if (IsMarked(attempt.startup())) RETURN_IF_ERROR(Untranspile(&attempt.startup()));
    // Starts the builder anew, because the programs were changed without it.
    ASSIGN_OR_RETURN(parameters, optimizer.Minimize(attempt, loss));
    TranspileOptions with_startup = options;
    with_startup.startup = &attempt.startup();
    ASSIGN_OR_RETURN(const TranspileResult result, Transpile(&program, with_startup));
    if (result.left_alone.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("with these options the program is left alone: ", result.left_alone));
  }));
  return parameters;
}

}  // namespace fixpoint
