// The test mode of a batch norm that is folded into a weight while it trains
// (transpiler/train/fold_training_batch_norm.cc): a bias.

#ifndef FIXPOINT_TRANSPILER_FREEZE_FOLDED_BATCH_NORM_H_
#define FIXPOINT_TRANSPILER_FREEZE_FOLDED_BATCH_NORM_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Puts ops that add the bias in place of a folded_batch_norm, and removes the product that only its
// statistics are of:
//
//   conv2d(Input=x, Filter=w) -> (Output=u)
//   folded_batch_norm(X=y, Unfolded=u, Deviation=d, Scale=g, Bias=b, Mean=m, ...) -> (Y=z, ...)
//
//   elementwise_div(X=g, Y=d) -> (Out=g.factor)
//   elementwise_mul(X=m, Y=g.factor) -> (Out=m.scaled)
//   elementwise_sub(X=b, Y=m.scaled) -> (Out=b.folded)
//   elementwise_add(X=y, Y=b.folded) -> (Out=z) {axis=1}
//
// Error (kInvalidArgument): the op lacks an input or output, or one has no declared dimensions; or
// something else reads the statistics that it hands on.
absl::Status PutInTestMode(const Op& folded_batch_norm, absl::string_view pass, Program* program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_FOLDED_BATCH_NORM_H_
