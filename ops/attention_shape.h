// The shapes of scaled dot product attention (1706.03762 §3.2.1), for inferring and for running it.

#ifndef FIXPOINT_OPS_ATTENTION_SHAPE_H_
#define FIXPOINT_OPS_ATTENTION_SHAPE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/dims.h"

namespace fixpoint {

struct AttentionShape {
  Dims scores;  // [..., M, N], what Q K^T is, and the probabilities
  Dims out;     // [..., M, C]
};

// Of Q [..., M, D], K [..., N, D] and V [..., N, C]. Extents of -1 are unknown. Errors
// (kInvalidArgument): the ranks or leading extents differ, as where one is 1 and would be repeated;
// D or N differ.
absl::StatusOr<AttentionShape> AttentionShapeOf(DimsView q, DimsView k, DimsView v);

// Error (kInvalidArgument): the mask, repeated where its extents are 1 or missing in front, is not
// of the scores' dims.
absl::Status CheckAttentionMask(DimsView scores, DimsView mask);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_ATTENTION_SHAPE_H_
