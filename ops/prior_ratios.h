// The shapes of prior boxes.

#ifndef FIXPOINT_OPS_PRIOR_RATIOS_H_
#define FIXPOINT_OPS_PRIOR_RATIOS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fixpoint {

// The ratios of width to height for which prior_box has a box of each size: 1, and then each ratio
// that is not within 1e-6 of one before, followed by its inverse if `flip`. Error
// (kInvalidArgument): a ratio is not positive.
absl::StatusOr<std::vector<double>> PriorRatios(absl::Span<const double> aspect_ratios, bool flip);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_PRIOR_RATIOS_H_
