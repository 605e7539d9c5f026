// A program of inference with its parameters, as PaddlePaddle and `infer` load it.

#ifndef FIXPOINT_RUNTIME_INFERENCE_MODEL_H_
#define FIXPOINT_RUNTIME_INFERENCE_MODEL_H_

#include <string>

#include "absl/status/status.h"
#include "proto/program.pb.h"
#include "runtime/scope.h"

namespace fixpoint {

// Writes <prefix>.pdmodel and <prefix>.pdiparams, the program's parameters in the scope, and the
// first only when the second can take its place. Errors: those of SaveProgram
// (proto/program_file.h) and StageCombinedParameters (parameter_file.h).
absl::Status SaveInferenceModel(const ProgramDesc& program, const Scope& scope,
                                const std::string& prefix);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_INFERENCE_MODEL_H_
