// Ranges as they are seen while a float program runs.

#ifndef FIXPOINT_TESTS_COMPARISONS_RANGE_PROFILE_H_
#define FIXPOINT_TESTS_COMPARISONS_RANGE_PROFILE_H_

#include "absl/status/statusor.h"
#include "proto/program_fwd.h"
#include "proto/quant_plan.pb.h"
#include "runtime/backend.h"
#include "runtime/scope.h"

namespace fixpoint {

// The ranges of the program's feeds and of every tensor that its ops write, in one run of the
// executor. Errors: those of the executor.
absl::StatusOr<RangeProfile> ProfileOf(const Program& program, Scope* parameters, const Feed& feed);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_COMPARISONS_RANGE_PROFILE_H_
