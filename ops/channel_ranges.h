// The ranges of a weight, beside the channels that an op has them for.

#ifndef FIXPOINT_OPS_CHANNEL_RANGES_H_
#define FIXPOINT_OPS_CHANNEL_RANGES_H_

#include "absl/status/status.h"
#include "ops/dims.h"

namespace fixpoint {

// Whether an op whose X has channels on an axis can take its WeightScale: one range, or one for
// each channel, or for each of a group, which then repeat. Passes where a size is not known. Error
// (kInvalidArgument), without naming the op: it cannot.
absl::Status CheckWeightScale(DimsView scale, DimsView x, int axis);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CHANNEL_RANGES_H_
