// Which range of a weight is quantized: chosen as that of an activation, from the weight's own
// elements.

#ifndef FIXPOINT_RUNTIME_STATISTICS_WEIGHT_RANGES_H_
#define FIXPOINT_RUNTIME_STATISTICS_WEIGHT_RANGES_H_

#include <vector>

#include "absl/types/span.h"
#include "proto/config/quant_spec.pb.h"
#include "runtime/channel_view.h"
#include "runtime/statistics/range_rules.h"

namespace fixpoint {

// The range that the rule of a spec chooses for each channel (RangeByRule), within that of its
// elements. NaN and infinities are left out. REQUIRES: those of RangeByRule and CodingOf.
std::vector<ValueRange> WeightRanges(absl::Span<const float> weight, const ChannelView& channels,
                                     const QuantSpec& spec);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_STATISTICS_WEIGHT_RANGES_H_
