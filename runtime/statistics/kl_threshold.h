// The threshold of the KL rule (range_rules.h).

#ifndef FIXPOINT_RUNTIME_STATISTICS_KL_THRESHOLD_H_
#define FIXPOINT_RUNTIME_STATISTICS_KL_THRESHOLD_H_

#include <optional>

#include "absl/types/span.h"
#include "runtime/statistics/bit_histogram.h"

namespace fixpoint {

// The magnitude up to which values are kept when magnitudes are coded with `codes` codes. Nothing
// if no threshold can be compared: there are only zeros, or more than 2048 codes.
std::optional<double> KlThreshold(absl::Span<const BitHistogram::Bin> magnitudes, int codes);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_STATISTICS_KL_THRESHOLD_H_
