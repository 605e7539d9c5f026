// An inference program with its parameters, as PaddlePaddle and `infer` load it.

#ifndef FIXPOINT_RUNTIME_INFERENCE_MODEL_H_
#define FIXPOINT_RUNTIME_INFERENCE_MODEL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program/program.h"
#include "proto/wire/program.pb.h"
#include "runtime/scope.h"
#include "runtime/staged_directory.h"

namespace fixpoint {

// Writes <prefix>.pdmodel and <prefix>.pdiparams, the program's parameters in the scope; the first
// is replaced only when the second can be. Errors: those of SaveProgram (proto/file/program_file.h)
// and StageCombinedParameters (parameter_file.h).
absl::Status SaveInferenceModel(const ProgramDesc& program, const Scope& scope,
                                const std::string& prefix);

// The same in a folder that is staged: <name>.pdmodel and <name>.pdiparams.
absl::Status WriteInferenceModel(const ProgramDesc& program, const Scope& scope,
                                 const std::string& name, StagedDirectory* folder);

struct InferenceModel {
  Program program;
  Scope parameters;
};

// Loads <path>.pdmodel with <path>.pdiparams; or, from the folder `path`, the only such pair, or
// __model__ with its parameters in __params__ or in a file each. Errors: kNotFound: there is none
// of these, or a folder has several pairs; those of LoadProgram, Program::Create and
// LoadParameters, with the file.
absl::StatusOr<InferenceModel> LoadInferenceModel(const std::string& path);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_INFERENCE_MODEL_H_
