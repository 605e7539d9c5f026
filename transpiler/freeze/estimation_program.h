// A program that finds the statistics of batch norm anew.

#ifndef FIXPOINT_TRANSPILER_FREEZE_ESTIMATION_PROGRAM_H_
#define FIXPOINT_TRANSPILER_FREEZE_ESTIMATION_PROGRAM_H_

#include "absl/status/statusor.h"
#include "proto/program/program.h"

namespace fixpoint {

// `training` without the training ops, for EstimateBatchNorm
// (runtime/training/batch_norm_estimation.h): its batch norms go by the statistics of their batch,
// whatever a schedule says; quantizers do what they do in training. Errors: those of
// MakeTestProgram (test_program.h).
absl::StatusOr<Program> MakeEstimationProgram(const Program& training);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_ESTIMATION_PROGRAM_H_
