// Parameters as text, a line each: `w f32[2,2] 0.5 -1 2 nan`; with offsets of sequences
// `x f32[3] lod={0,2,3} 1 2 3`.

#ifndef FIXPOINT_TESTS_TESTING_PARAMETER_TEXT_H_
#define FIXPOINT_TESTS_TESTING_PARAMETER_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/scope.h"

namespace fixpoint {

// Types f32, f64, bool, u8, i8, i16, i32 and i64. `name` is for messages.
absl::StatusOr<Scope> ParseParameters(absl::string_view text, absl::string_view name);
std::string PrintParameters(const Scope& scope);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_PARAMETER_TEXT_H_
