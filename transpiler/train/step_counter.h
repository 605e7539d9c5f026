// The variable that counts the steps of a program.

#ifndef FIXPOINT_TRANSPILER_TRAIN_STEP_COUNTER_H_
#define FIXPOINT_TRANSPILER_TRAIN_STEP_COUNTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"
#include "transpiler/train/state_writer.h"

namespace fixpoint {

// The persistable INT64 [1] that is 1 in the first step, 2 in the second: an existing one, or a new
// one, which the head of block 0 increments; returns its name.
absl::StatusOr<std::string> AddStepCounter(const Program& program, absl::string_view pass,
                                           StateWriter* state, Rewriter* rewriter);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_STEP_COUNTER_H_
