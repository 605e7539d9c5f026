// The parameters of a program that passes have made from another.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_TAKEN_PARAMETERS_H_
#define FIXPOINT_TRANSPILER_PIPELINE_TAKEN_PARAMETERS_H_

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"

namespace fixpoint {

// The values of the program's parameters: taken from `made`, or else a copy of `given`'s. Errors
// begin with the program's name: kNotFound: neither has it; kFailedPrecondition: the system has no
// memory.
absl::StatusOr<Scope> TakeParameters(const Program& program, Scope& made, const Scope& given);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_TAKEN_PARAMETERS_H_
