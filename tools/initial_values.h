// What a training run starts from: the startup program's values, or parameters in their place.

#ifndef FIXPOINT_TOOLS_INITIAL_VALUES_H_
#define FIXPOINT_TOOLS_INITIAL_VALUES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"
#include "runtime/training/batch_runner.h"

namespace fixpoint {

// A training program and its startup program, with the files that they were read from.
struct TrainedFrom {
  const Program& program;
  const Program& startup;
  const std::string& program_file;
  const std::string& startup_file;
};

// Runs the startup program. Errors: those of Initialize; kInvalidArgument: it has inputs, so it is
// no startup program.
absl::Status RunStartup(const TrainedFrom& trained, Scope* scope, const BatchRunOptions& options);

// Replaces the startup program's values by parameters: those that a folder has, or all, from a
// combined file. Returns a line about what one side has and the other lacks; "" if they agree.
// Errors: those of LoadParametersThatAreThere and LoadParameters; kNotFound: there is no trained
// parameter; kInvalidArgument: the dtype of a parameter is not the startup program's.
absl::StatusOr<std::string> TakeParameters(const TrainedFrom& trained, const std::string& params,
                                           Scope* scope);

// Error (kFailedPrecondition): a parameter has no value in the scope and no op of the program
// writes it, so that it cannot be saved in a folder after training; or those of
// CheckSeparateParameters.
absl::Status CheckCanBeSaved(const TrainedFrom& trained, const Scope& scope,
                             const std::string& folder);

// The error of a first step. If it names a parameter without a value, the result also lists all of
// these, and a likely cause.
absl::Status WithMissingValues(const absl::Status& error, const TrainedFrom& trained,
                               const Scope& scope);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_INITIAL_VALUES_H_
