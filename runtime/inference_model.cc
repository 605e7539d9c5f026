#include "runtime/inference_model.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "proto/atomic_file.h"
#include "proto/program_file.h"
#include "proto/status_macros.h"
#include "runtime/parameter_file.h"

namespace fixpoint {

absl::Status SaveInferenceModel(const ProgramDesc& program, const Scope& scope,
                                const std::string& prefix) {
  ASSIGN_OR_RETURN(AtomicFile parameters,
                   StageCombinedParameters(program, scope, absl::StrCat(prefix, ".pdiparams")));
  RETURN_IF_ERROR(SaveProgram(program, ProgramFormat::kBinary, absl::StrCat(prefix, ".pdmodel")));
  return parameters.Commit();
}

}  // namespace fixpoint
