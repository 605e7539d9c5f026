// Programs as text and their values as text, run by the reference interpreter.

#ifndef FIXPOINT_TESTS_RUNTIME_REFERENCE_RUN_OPS_H_
#define FIXPOINT_TESTS_RUNTIME_REFERENCE_RUN_OPS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fixpoint::reference {

// Runs a program (proto/text/program_text.h) on what `inputs` holds
// (tests/testing/parameter_text.h). Gives every tensor that its ops write, a line each, by name;
// or the error. REQUIRES: both texts are right.
std::string RunOps(absl::string_view program, absl::string_view inputs);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_TESTS_RUNTIME_REFERENCE_RUN_OPS_H_
