#include "runtime/statistics/bit_histogram.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>

#include "runtime/statistics/bit_counts.h"

namespace fixpoint {
namespace {

float FloatOfBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// The least magnitude of a bin; beyond the last finite one, the largest float.
double LowOf(int bin) {
  if (bin >= kFirstNonFiniteBin) return std::numeric_limits<float>::max();
  return FloatOfBits(static_cast<uint32_t>(bin) << kBitsBelowBins);
}

BitHistogram::Bin BinOf(int bin, int64_t count) {
  if (bin == 0) return {0, 0, count};
  return {LowOf(bin), LowOf(bin + 1), count};
}

BitHistogram::Bin CutOff(BitHistogram::Bin bin, double min, double max) {
  return {std::clamp(bin.low, min, max), std::clamp(bin.high, min, max), bin.count};
}

int64_t Sum(absl::Span<const int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

}  // namespace

const int BitHistogram::kBins = kFirstNonFiniteBin;

float BitHistogram::Add(absl::Span<const float> values) {
  if (values.empty()) return 0;
  const BitEnds ends = FindBitEnds(values);
  const size_t size = ends.has_sign() ? 2 * kBitBins : kBitBins;
  if (counts_.size() < size) counts_.resize(size);
  CountBits(values, absl::MakeSpan(counts_));
  float min = ends.smallest;
  float max = ends.largest;
  auto finite = static_cast<int64_t>(values.size());
  if (!ends.are_all_finite()) {
    min = std::numeric_limits<float>::max();
    max = std::numeric_limits<float>::lowest();
    for (const float value : values) {
      if (std::isfinite(value)) {
        min = std::min(min, value);
        max = std::max(max, value);
      } else {
        --finite;
        ++(std::isnan(value) ? nan_count_ : infinite_count_);
      }
    }
    for (size_t sign = 0; sign < counts_.size(); sign += kBitBins) {
      std::fill(counts_.begin() + sign + kBins, counts_.begin() + sign + kBitBins, 0);
    }
  }
  if (finite == 0) return 0;
  // A sum with 0 turns -0 into 0.
  min_ = (count_ == 0 ? min : std::min(min_, min)) + 0.0f;
  max_ = (count_ == 0 ? max : std::max(max_, max)) + 0.0f;
  count_ += finite;
  return std::max(std::fabs(min), std::fabs(max));
}

void BitHistogram::Merge(const BitHistogram& other) {
  nan_count_ += other.nan_count_;
  infinite_count_ += other.infinite_count_;
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
}

absl::Span<const int64_t> BitHistogram::positive() const {
  return absl::MakeSpan(counts_).subspan(0, kBins);
}

absl::Span<const int64_t> BitHistogram::negative() const {
  if (counts_.size() <= kBitBins) return {};
  return absl::MakeSpan(counts_).subspan(kBitBins, kBins);
}

std::vector<BitHistogram::Bin> BitHistogram::Bins() const {
  std::vector<Bin> bins;
  const auto add = [&](const Bin& bin) {
    // Zeros of both signs are one bin.
    if (!bins.empty() && bin.low == 0 && bin.high == 0 && bins.back().high == 0 &&
        bins.back().low == 0) {
      bins.back().count += bin.count;
    } else {
      bins.push_back(CutOff(bin, min_, max_));
    }
  };
  const absl::Span<const int64_t> below = negative();
  for (int b = static_cast<int>(below.size()) - 1; b >= 0; --b) {
    if (below[b] == 0) continue;
    const Bin bin = BinOf(b, below[b]);
    add({-bin.high, -bin.low, bin.count});
  }
  const absl::Span<const int64_t> above = positive();
  for (int b = 0; b < static_cast<int>(above.size()); ++b) {
    if (above[b] != 0) add(BinOf(b, above[b]));
  }
  return bins;
}

std::vector<BitHistogram::Bin> BitHistogram::Magnitudes() const {
  const absl::Span<const int64_t> below = negative();
  const absl::Span<const int64_t> above = positive();
  const double least = min_ > 0 ? min_ : max_ < 0 ? -max_ : 0;
  const double most = std::max<double>(std::fabs(min_), std::fabs(max_));
  std::vector<Bin> bins;
  for (int b = 0; b < static_cast<int>(above.size()); ++b) {
    const int64_t count = above[b] + (below.empty() ? 0 : below[b]);
    if (count != 0) bins.push_back(CutOff(BinOf(b, count), least, most));
  }
  return bins;
}

BitHistogram::Moments BitHistogram::FindMoments() const {
  if (count_ == 0) return {};
  const auto count = static_cast<double>(count_);
  const std::vector<Bin> bins = Bins();
  Moments moments;
  for (const Bin& bin : bins) {
    moments.mean += static_cast<double>(bin.count) / count * (bin.low + bin.high) / 2;
  }
  for (const Bin& bin : bins) {
    const double distance = (bin.low + bin.high) / 2 - moments.mean;
    const double width = bin.high - bin.low;
    moments.variance +=
        static_cast<double>(bin.count) / count * (distance * distance + width * width / 12);
  }
  return moments;
}

double QuantileOf(absl::Span<const BitHistogram::Bin> bins, int64_t count, double share) {
  if (bins.empty()) return 0;
  const double wanted = share * static_cast<double>(count);
  int64_t before = 0;
  for (const BitHistogram::Bin& bin : bins) {
    before += bin.count;
    if (static_cast<double>(before) >= wanted) return bin.high;
  }
  return bins.back().high;
}

double BitHistogram::Quantile(double share) const { return QuantileOf(Bins(), count_, share); }

BitHistogram BitHistogram::Of(absl::Span<const int64_t> positive,
                              absl::Span<const int64_t> negative, float min, float max,
                              int64_t infinite_count) {
  BitHistogram histogram;
  histogram.infinite_count_ = infinite_count;
  histogram.count_ = Sum(positive) + Sum(negative);
  if (histogram.count_ == 0) return histogram;
  histogram.counts_.resize(negative.empty() ? kBitBins : 2 * kBitBins);
  std::copy(positive.begin(), positive.end(), histogram.counts_.begin());
  std::copy(negative.begin(), negative.end(),
            histogram.counts_.begin() + (negative.empty() ? 0 : kBitBins));
  histogram.min_ = std::numeric_limits<float>::lowest();
  histogram.max_ = std::numeric_limits<float>::max();
  const std::vector<Bin> bins = histogram.Bins();
  histogram.min_ = static_cast<float>(std::clamp<double>(min, bins.front().low, bins.front().high));
  histogram.max_ = static_cast<float>(std::clamp<double>(max, bins.back().low, bins.back().high));
  return histogram;
}

}  // namespace fixpoint
