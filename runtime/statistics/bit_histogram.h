// How the values of a tensor, or of many, are distributed: counts by the bits of the floats. It
// needs no range and no second pass, and histograms merge by addition, so that the result is the
// same to the bit for any order of values, tensors and merges.

#ifndef FIXPOINT_RUNTIME_STATISTICS_BIT_HISTOGRAM_H_
#define FIXPOINT_RUNTIME_STATISTICS_BIT_HISTOGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint {

// Holds 64 KiB, and as much again if there are negative values. Not for two threads at once.
class BitHistogram {
 public:
  // Takes in values, in any order. NaN and infinities are only counted. Returns the largest
  // magnitude of the finite ones; 0 if there are none.
  float Add(absl::Span<const float> values);
  void Merge(const BitHistogram& other);

  // Of the finite values. -0 counts as 0; without values, both ends are 0.
  int64_t count() const { return count_; }
  float min() const { return min_; }
  float max() const { return max_; }

  int64_t nan_count() const { return nan_count_; }
  int64_t infinite_count() const { return infinite_count_; }

  // Values from `low` to `high`; if both are equal, they are that value. A bin is cut off at the
  // ends of all values, so that a constant is one bin without a width.
  struct Bin {
    double low = 0;
    double high = 0;
    int64_t count = 0;
  };
  // The bins that are not empty, in the order of their values; 0 is a bin of its own, with the
  // floats below 3.7e-40.
  std::vector<Bin> Bins() const;
  // The same for the values' magnitudes.
  std::vector<Bin> Magnitudes() const;

  // Computed from the bins, as if the values of each were evenly spread: the mean is within 1/64 of
  // the mean magnitude. 0 without values.
  struct Moments {
    double mean = 0;
    double variance = 0;
  };
  Moments FindMoments() const;
  // The upper end of the first bin that, with those before it, has at least this share of the
  // values: not less than the quantile, and at most 1/32 away from it. 0 without values. REQUIRES:
  // 0 <= share <= 1.
  double Quantile(double share) const;

  // What a file stores: the magnitudes' bins, empty ones too, of the values without a sign and of
  // those with one; nothing if there are none.
  absl::Span<const int64_t> positive() const;
  absl::Span<const int64_t> negative() const;
  // A histogram with these counts, whose values lie between `min` and `max` if its outermost bins
  // have such. REQUIRES: each span is empty or has kBins counts of 0 or more, whose sum is an
  // int64; min <= max; infinite_count >= 0.
  static BitHistogram Of(absl::Span<const int64_t> positive, absl::Span<const int64_t> negative,
                         float min, float max, int64_t infinite_count);
  // Of finite magnitudes.
  static const int kBins;

 private:
  // Counts of both signs, with bins for infinity and NaN, which stay empty; none for the negative
  // ones as long as there are none.
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  int64_t nan_count_ = 0;
  int64_t infinite_count_ = 0;
  float min_ = 0;
  float max_ = 0;
};

// See BitHistogram::Quantile. REQUIRES: bins of `count` values, in the order of their values.
double QuantileOf(absl::Span<const BitHistogram::Bin> bins, int64_t count, double share);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_STATISTICS_BIT_HISTOGRAM_H_
