// Ranges as they are seen while a float program runs.

#ifndef FIXPOINT_TESTS_COMPARISONS_RANGE_PROFILE_H_
#define FIXPOINT_TESTS_COMPARISONS_RANGE_PROFILE_H_

#include "absl/status/statusor.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/scope.h"

namespace fixpoint {

// The ranges of the program's parameters, of its feeds and of every tensor that its ops write, in
// one run of the executor. Errors: those of the executor.
absl::StatusOr<RangeProfile> ProfileOf(const Program& program, Scope* parameters, const Feed& feed);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_COMPARISONS_RANGE_PROFILE_H_
