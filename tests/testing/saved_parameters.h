// Parameters written and in their place.

#ifndef FIXPOINT_TESTS_TESTING_SAVED_PARAMETERS_H_
#define FIXPOINT_TESTS_TESTING_SAVED_PARAMETERS_H_

#include <string>

#include "absl/status/status.h"
#include "proto/base/status_macros.h"
#include "runtime/parameter_file.h"

namespace fixpoint {

inline absl::Status SaveCombinedParameters(const ProgramDesc& program, const Scope& scope,
                                           const std::string& file) {
  ASSIGN_OR_RETURN(AtomicFile staged, StageCombinedParameters(program, scope, file));
  return staged.Commit();
}

inline absl::Status SaveSeparateParameters(const ProgramDesc& program, const Scope& scope,
                                           const std::string& directory) {
  ASSIGN_OR_RETURN(StagedDirectory staged, StageSeparateParameters(program, scope, directory));
  return staged.Commit();
}

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_SAVED_PARAMETERS_H_
