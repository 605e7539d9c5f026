// How often floats agree in their upper bits: a histogram that needs to know no range.

#ifndef FIXPOINT_RUNTIME_STATISTICS_BIT_COUNTS_H_
#define FIXPOINT_RUNTIME_STATISTICS_BIT_COUNTS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace fixpoint {

// The floats of a bin agree in the exponent and in so many bits of the mantissa: a bin is as wide
// as 1/32 of the power of two below it.
inline constexpr int kMantissaBitsOfBins = 5;
inline constexpr int kBitsBelowBins = 23 - kMantissaBitsOfBins;
// For one sign. The last ones, from kFirstNonFiniteBin on, have infinity and NaN.
inline constexpr int kBitBins = 1 << (8 + kMantissaBitsOfBins);
inline constexpr int kFirstNonFiniteBin = 255 << kMantissaBitsOfBins;

// The ends of a tensor in the order of its floats' bits, in which -0 is less than 0, and NaN is
// beyond the infinity of its sign. REQUIRES: x is not empty.
struct BitEnds {
  float smallest = 0;
  float largest = 0;

  bool has_sign() const;  // whether any value has the bit of the sign
  bool are_all_finite() const;
};
BitEnds FindBitEnds(absl::Span<const float> x);

// Adds to counts[b], for each bin b, how many values it has: first those without a sign, then, from
// kBitBins on, those with one. REQUIRES: there are 2 * kBitBins counts or, if no value has a sign,
// kBitBins.
void CountBits(absl::Span<const float> x, absl::Span<int64_t> counts);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_STATISTICS_BIT_COUNTS_H_
