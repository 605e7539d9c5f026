#include "runtime/statistics/weight_ranges.h"

#include <algorithm>
#include <cstdint>

#include "runtime/statistics/bit_histogram.h"

namespace fixpoint {

std::vector<ValueRange> WeightRanges(absl::Span<const float> weight, const ChannelView& channels,
                                     const QuantSpec& spec) {
  RangeCoding coding = CodingOf(spec);
  // A clipped weight reaches as far on both sides, so that its quantizer has no use for one code
  // more of one sign.
  if (coding.scheme == QuantSpec::SYMMETRIC) {
    coding.codes.smallest = std::max(coding.codes.smallest, -coding.codes.largest);
  }
  std::vector<ValueRange> ranges;
  for (int64_t c = 0; c < channels.channels; ++c) {
    BitHistogram values;
    channels.ForEachRun(weight, c, [&values](absl::Span<const float> run) { values.Add(run); });
    const ValueRange chosen = RangeByRule(values, spec, coding);
    ranges.push_back({std::clamp(chosen.min, values.min(), values.max()),
                      std::clamp(chosen.max, values.min(), values.max())});
  }
  return ranges;
}

}  // namespace fixpoint
