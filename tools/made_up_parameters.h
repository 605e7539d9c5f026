// Parameters of a program that was never trained, for what depends on their types alone.

#ifndef FIXPOINT_TOOLS_MADE_UP_PARAMETERS_H_
#define FIXPOINT_TOOLS_MADE_UP_PARAMETERS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"

namespace fixpoint {

// The bytes of a parameter as the program declares it. Error (kInvalidArgument): it leaves an
// extent open, or no memory holds that many.
absl::StatusOr<int64_t> BytesOfParameter(const Program& program, const ParameterInfo& parameter);

// The program's parameters: copies of those of `given`, and made-up ones. Of these, weights have
// both signs; ranges, statistics and everything else with one dimension are 1, and integers 0.
// Errors: that of BytesOfParameter; kFailedPrecondition: they are too large to be made up.
absl::StatusOr<Scope> MadeUpParameters(const Program& program, const Scope& given = {});

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_MADE_UP_PARAMETERS_H_
