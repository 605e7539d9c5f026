// What a training run begins with: what the startup program gives, and parameters in its place.

#ifndef FIXPOINT_TOOLS_INITIAL_VALUES_H_
#define FIXPOINT_TOOLS_INITIAL_VALUES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program.h"
#include "runtime/scope.h"
#include "runtime/training/batch_runner.h"

namespace fixpoint {

// A program that trains and the one that initialises it, with the files that they were read from.
struct TrainedFrom {
  const Program& program;
  const Program& startup;
  const std::string& program_file;
  const std::string& startup_file;
};

// Runs the startup program. Errors: those of Initialize; kInvalidArgument: it is fed, so that it is
// no startup program.
absl::Status RunStartup(const TrainedFrom& trained, Scope* scope, const BatchRunOptions& options);

// Puts parameters in the place of the startup program's: those of the program that a folder has, or
// all of them, from a combined file. Gives a line about what either has and the other lacks; ""
// where they are the same ones. Errors: those of LoadParametersThatAreThere and LoadParameters;
// kNotFound: none that is trained is there; kInvalidArgument: one is of another dtype than the
// startup program's.
absl::StatusOr<std::string> TakeParameters(const TrainedFrom& trained, const std::string& params,
                                           Scope* scope);

// Error (kFailedPrecondition): a parameter has no value in the scope and no op of the program gives
// it one, so that it cannot be saved in a folder after training; or those of
// CheckSeparateParameters.
absl::Status CheckCanBeSaved(const TrainedFrom& trained, const Scope& scope,
                             const std::string& folder);

// The error of a first step; where it names a parameter that has no value, with which ones have
// none, and why that may be.
absl::Status WithMissingValues(const absl::Status& error, const TrainedFrom& trained,
                               const Scope& scope);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_INITIAL_VALUES_H_
