#include "runtime/statistics/kl_threshold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fixpoint {
namespace {

constexpr int kBins = 2048;
// Without it, no threshold in a gap between values could be compared. ONNX Runtime has as much.
constexpr double kCountOfNothing = 1e-4;
// Divergences that differ by less are equal: of several thresholds, the largest is the best.
constexpr double kNoise = 1e-12;

double TimesLog(double x) { return x > 0 ? x * std::log(x) : 0; }

// A distribution over bins of one width, and its sums over the first bins, so that a part of it is
// summed at once. What lies beyond the bins is in none.
class EvenBins {
 public:
  EvenBins(absl::Span<const BitHistogram::Bin> magnitudes, double width) {
    for (const BitHistogram::Bin& bin : magnitudes) {
      Spread(bin, width);
      total_ += static_cast<double>(bin.count);
    }
    for (int i = 0; i < kBins; ++i) {
      counts_[i + 1] = counts_[i] + bins_[i];
      filled_[i + 1] = filled_[i] + (bins_[i] > 0 ? 1 : 0);
      logs_[i + 1] = logs_[i] + TimesLog(bins_[i]);
    }
  }

  // The divergence of the first `size` bins, with the count of the others in the last of them, from
  // what `codes` codes make of them without the others: the count of each code's bins is spread
  // over those that are not empty. Where only the others are in the last bin, the codes have
  // kCountOfNothing there. Infinite if all are beyond the first `size` bins.
  double Divergence(int size, int codes) const {
    if (counts_[size] <= 0) return std::numeric_limits<double>::infinity();
    const double beyond = std::max(0.0, total_ - counts_[size]);
    const double last = bins_[size - 1];
    const bool is_last_empty = last == 0;
    double sum = logs_[size - 1] + TimesLog(last + beyond);
    if (is_last_empty) sum -= beyond * std::log(kCountOfNothing);
    for (int code = 0; code < codes; ++code) {
      const int begin = code * size / codes;
      const int end = (code + 1) * size / codes;
      const double count = counts_[end] - counts_[begin];
      if (count <= 0) continue;
      const double spread = count / (filled_[end] - filled_[begin]);
      sum -= (count + (code == codes - 1 && !is_last_empty ? beyond : 0)) * std::log(spread);
    }
    return sum / total_ - std::log(total_) + std::log(counts_[size]);
  }

 private:
  // Spreads the count of a bin evenly over its width.
  void Spread(const BitHistogram::Bin& bin, double width) {
    const auto count = static_cast<double>(bin.count);
    const int first = static_cast<int>(std::min<double>(bin.low / width, kBins));
    const int last = static_cast<int>(std::min<double>(bin.high / width, kBins));
    if (first == last) {
      // The largest value ends the last bin.
      const bool is_at_end = first == kBins && bin.low <= kBins * width;
      if (first < kBins || is_at_end) bins_[std::min(first, kBins - 1)] += count;
      return;
    }
    for (int i = first; i <= std::min(last, kBins - 1); ++i) {
      const double low = std::max(bin.low, i * width);
      const double high = std::min(bin.high, (i + 1) * width);
      bins_[i] += count * std::max(0.0, high - low) / (bin.high - bin.low);
    }
  }

  double total_ = 0;
  std::array<double, kBins> bins_ = {};
  // Sums over the first i bins.
  std::array<double, kBins + 1> counts_ = {};
  std::array<int, kBins + 1> filled_ = {};
  std::array<double, kBins + 1> logs_ = {};
};

}  // namespace

std::optional<double> KlThreshold(absl::Span<const BitHistogram::Bin> magnitudes, int codes) {
  if (!magnitudes.empty() && magnitudes.front().high == 0) magnitudes.remove_prefix(1);
  if (magnitudes.empty() || codes > kBins) return std::nullopt;
  const double largest = magnitudes.back().high;
  const double smallest = magnitudes.front().high;
  double end = largest;
  while (true) {
    const double width = end / kBins;
    const EvenBins bins(magnitudes, width);
    int best = kBins;
    double least = bins.Divergence(kBins, codes);
    for (int size = kBins - 1; size >= codes; --size) {
      const double divergence = bins.Divergence(size, codes);
      if (divergence >= least - kNoise) continue;
      least = divergence;
      best = size;
    }
    const double threshold = std::min((best + 0.5) * width, largest);
    // The best of all may lie below the smallest that was compared: it is looked for more closely.
    const double closer = 2 * codes * width;
    if (best > codes || closer >= end || closer < smallest) return threshold;
    end = closer;
  }
}

}  // namespace fixpoint
