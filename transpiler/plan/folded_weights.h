// What a program says of weights into which the factors of a batch norm are folded while it trains
// (transpiler/train/fold_training_batch_norm.cc).

#ifndef FIXPOINT_TRANSPILER_PLAN_FOLDED_WEIGHTS_H_
#define FIXPOINT_TRANSPILER_PLAN_FOLDED_WEIGHTS_H_

#include "proto/program/program_fwd.h"

namespace fixpoint {

// The op type of the batch norm after a product with such a weight.
inline constexpr char kFoldedBatchNorm[] = "folded_batch_norm";

// The pass that folds, and so the mark of the ops that it inserts.
inline constexpr char kFoldingPass[] = "fold_training_batch_norm";

// Whether the op, which that pass has inserted, multiplies a weight X by factors Y.
bool FoldsFactors(const Op& op);

// Whether nothing but the statistics of a folded batch norm comes from the op: it is computed in
// float.
bool IsForStatistics(const Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_FOLDED_WEIGHTS_H_
