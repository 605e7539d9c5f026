#include "runtime/statistics/bit_counts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace fixpoint {
namespace {

uint32_t BitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// An integer for the bits of a float, and back: the order of the integers is that of the floats.
int32_t OrderOf(int32_t bits) {
  return bits ^ ((bits >> 31) & std::numeric_limits<int32_t>::max());
}

float FloatOfOrder(int32_t order) {
  const int32_t bits = OrderOf(order);
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Counters wait for each other where adjacent values are in one bin, as zeros after a relu are: so
// values take turns among this many tables of counters.
constexpr size_t kTables = 4;
// For fewer values, it takes longer to add up the tables.
constexpr size_t kLeastForTables = size_t{1} << 15;
// So that the counters of a table, of 32 bits, do not overflow.
constexpr size_t kMostForTables = size_t{1} << 30;

void CountInTables(absl::Span<const float> x, absl::Span<int64_t> counts) {
  const size_t bins = counts.size();
  std::vector<uint32_t> tables(kTables * bins);
  uint32_t* const table = tables.data();
  size_t i = 0;
  for (; i + kTables <= x.size(); i += kTables) {
    for (size_t t = 0; t < kTables; ++t) ++table[t * bins + (BitsOf(x[i + t]) >> kBitsBelowBins)];
  }
  for (; i < x.size(); ++i) ++table[BitsOf(x[i]) >> kBitsBelowBins];
  for (size_t t = 0; t < kTables; ++t) {
    for (size_t b = 0; b < bins; ++b) counts[b] += table[t * bins + b];
  }
}

}  // namespace

bool BitEnds::has_sign() const { return std::signbit(smallest); }

bool BitEnds::are_all_finite() const { return std::isfinite(smallest) && std::isfinite(largest); }

BitEnds FindBitEnds(absl::Span<const float> x) {
  int32_t smallest = std::numeric_limits<int32_t>::max();
  int32_t largest = std::numeric_limits<int32_t>::min();
  // gcc vectorises it.
  for (const float& value : x) {
    int32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const int32_t order = OrderOf(bits);
    smallest = std::min(smallest, order);
    largest = std::max(largest, order);
  }
  return {FloatOfOrder(smallest), FloatOfOrder(largest)};
}

void CountBits(absl::Span<const float> x, absl::Span<int64_t> counts) {
  for (; x.size() >= kLeastForTables; x.remove_prefix(std::min(x.size(), kMostForTables))) {
    CountInTables(x.subspan(0, kMostForTables), counts);
  }
  for (const float value : x) ++counts[BitsOf(value) >> kBitsBelowBins];
}

}  // namespace fixpoint
