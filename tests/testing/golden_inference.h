// Goldens of programs for inference: `mode: test` (MakeTestProgram), `mode: prepare` (Prepare,
// which is also undone), `mode: freeze` (Freeze), `mode: lower` (Lower, whose account stands in
// front of its notes) and `mode: passes` (those that `pipeline` names).
//
// For freezing, `form`, `feeds`, `fetches`, `allow_dynamic: true` and `pack_tables: FORMAT` are
// settings; the section `parameters` has the trained parameters, `parameters become` what is left
// of them (parameter_text.h), and `notes` the notes to the user.

#ifndef FIXPOINT_TESTS_TESTING_GOLDEN_INFERENCE_H_
#define FIXPOINT_TESTS_TESTING_GOLDEN_INFERENCE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tests/testing/golden.h"

namespace fixpoint {

// The same golden with its sections as the code now makes them. Checks that what is given to the
// code stays as it is.
absl::StatusOr<Golden> RegenerateInference(const Golden& golden, absl::string_view name);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_GOLDEN_INFERENCE_H_
