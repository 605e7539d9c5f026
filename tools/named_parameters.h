// Parameters as a command line names them: a combined file, or a folder with a file for each.

#ifndef FIXPOINT_TOOLS_NAMED_PARAMETERS_H_
#define FIXPOINT_TOOLS_NAMED_PARAMETERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/wire/program.pb.h"
#include "runtime/scope.h"
#include "tools/outputs.h"

namespace fixpoint {

// The files that are read where a program has its parameters.
std::vector<std::string> ParameterInputs(const std::string& params, const ProgramDesc& program);

// Where parameters go if no flag names a place.
std::string ParamsBeside(const std::string& params, const std::string& word);

// Stages a program's parameters at a path that was claimed, in the form of `params`. Errors: those
// of StageSeparateParameters and StageCombinedParameters.
absl::Status StageParameters(const ProgramDesc& program, const Scope& parameters,
                             const std::string& params, const std::string& path, Outputs* outputs);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_NAMED_PARAMETERS_H_
