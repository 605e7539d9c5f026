// Inference of a batch whose images pass through the first steps of its plan a few at a time.
// Layers near the image have large values and small weights: the values of a few images stay in the
// cache from step to step, those of a batch go to memory and back. Further on it is the other way
// round, and the batch goes through as a whole.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_PIECES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_PIECES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/planner.h"

namespace fixpoint::executor {

struct Pieces {
  Plan plan;      // of one piece: its steps run for each, and then those of the rest
  int64_t count;  // of pieces in a batch
  // What a piece reads and leaves: a part of the buffer that has this number in the plan of the
  // rest, advanced by this many bytes for each piece before.
  std::vector<Buffer> parts;
};

struct BatchPlan {
  Plan rest;  // the whole, if there are no pieces
  std::optional<Pieces> pieces = std::nullopt;
};

// Plans a request; if parameters do not change, with the first steps in pieces, if they compute
// each image by itself and less goes to memory with a few images at a time. Kernels are made only
// for the steps that remain. Errors: those of MakePlan.
absl::StatusOr<BatchPlan> PlanBatch(ProgramPlan& program, const PlanRequest& request,
                                    const FindPersistable& find_persistable);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_PIECES_H_
