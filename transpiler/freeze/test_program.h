// The program that evaluates what a training program trains.

#ifndef FIXPOINT_TRANSPILER_FREEZE_TEST_PROGRAM_H_
#define FIXPOINT_TRANSPILER_FREEZE_TEST_PROGRAM_H_

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "proto/program/program.h"

namespace fixpoint {

inline constexpr char kTestPipeline[] = "strip_training,set_test_mode,remove_dead_variables";

// `training` without the training ops, with every op in its test mode, without the state that only
// training uses and without variables that nothing names any more. Quantizers keep computing what
// they compute: a static one reads its range, a dynamic one finds it. Block indexes stay. The
// result has no edit log (Untranspile uses its marks). Also works on programs of the reference,
// quantized or not. Linear in the program. `quantizers` null: the built-in ones.
//
// Errors: kFailedPrecondition: an op that stays reads what a training op computes;
// kInvalidArgument: the program is wrong, and an edit ran into it; kInternal: a pass or an
// invariant failed.
absl::StatusOr<Program> MakeTestProgram(const Program& training,
                                        const QuantizerTable* quantizers = nullptr);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_TEST_PROGRAM_H_
