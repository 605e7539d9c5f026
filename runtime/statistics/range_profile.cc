#include "runtime/statistics/range_profile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

template <typename... Parts>
absl::Status Wrong(const RangeProfile::Entry& entry, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("\"", entry.variable(), "\": ", parts...));
}

void StoreBins(absl::Span<const int64_t> counts, RangeProfile::Bins* bins) {
  for (int b = 0; b < static_cast<int>(counts.size()); ++b) {
    if (counts[b] == 0) continue;
    bins->add_bins(b);
    bins->add_counts(counts[b]);
  }
}

// The counts of all bins; adds their sum to `total`.
absl::StatusOr<std::vector<int64_t>> ReadBins(const RangeProfile::Entry& entry,
                                              const RangeProfile::Bins& bins,
                                              absl::string_view name, int64_t* total) {
  if (bins.bins_size() != bins.counts_size()) {
    return Wrong(entry, name, " has ", bins.bins_size(), " bins and ", bins.counts_size(),
                 " counts; want as many of both");
  }
  std::vector<int64_t> counts(BitHistogram::kBins);
  int last = -1;
  for (int i = 0; i < bins.bins_size(); ++i) {
    const int bin = bins.bins(i);
    if (bin <= last || bin >= BitHistogram::kBins) {
      return Wrong(entry, name, " has bin ", bin, " after bin ", last,
                   "; want them ascending, below ", BitHistogram::kBins);
    }
    if (bins.counts(i) < 0 || bins.counts(i) > std::numeric_limits<int64_t>::max() - *total) {
      return Wrong(entry, name, " counts ", bins.counts(i), " values in bin ", bin,
                   "; want 0 or more, and less than 2^63 in all");
    }
    *total += bins.counts(i);
    counts[bin] = bins.counts(i);
    last = bin;
  }
  return counts;
}

std::string ChecksumText(bool is_there, uint64_t checksum) {
  return is_there ? absl::StrFormat("%016x", checksum) : "none";
}

absl::Status CheckSame(absl::string_view what, bool has_a, uint64_t a, bool has_b, uint64_t b) {
  if (has_a == has_b && a == b) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("was made with other ", what, " than the profile before: checksum ",
                   ChecksumText(has_b, b), " and ", ChecksumText(has_a, a)));
}

// Error (kFailedPrecondition): a sample is in both.
absl::Status CheckNoSampleIsCommon(const RangeProfile& a, const RangeProfile& b) {
  std::set<std::pair<uint64_t, int64_t>> seen;
  for (const RangeProfile::Samples& samples : a.samples()) {
    for (const int64_t id : samples.ids()) seen.emplace(samples.data_hash(), id);
  }
  for (const RangeProfile::Samples& samples : b.samples()) {
    for (const int64_t id : samples.ids()) {
      if (seen.count({samples.data_hash(), id}) == 0) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("sample ", id, " of ", samples.data(),
                       " is in a profile before too; want each sample once"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckVariables(const RangeProfile& profile) {
  absl::flat_hash_set<absl::string_view> seen;
  for (const RangeProfile::Entry& entry : profile.entries()) {
    if (!seen.insert(entry.variable()).second) return Wrong(entry, "is there twice");
  }
  return absl::OkStatus();
}

absl::StatusOr<RangeProfile::Entry> MergedEntry(const RangeProfile::Entry& entry,
                                                const RangeProfile::Entry& later) {
  if (HasDistribution(entry) != HasDistribution(later)) {
    return Wrong(entry, "has a distribution in one profile and none in another");
  }
  RangeProfile::Entry merged;
  if (HasDistribution(entry)) {
    ASSIGN_OR_RETURN(ValueStatistics statistics, StatisticsOf(entry));
    ASSIGN_OR_RETURN(const ValueStatistics of_later, StatisticsOf(later));
    if (of_later.histogram.count() >
        std::numeric_limits<int64_t>::max() - statistics.histogram.count()) {
      return Wrong(entry, "has more values in both profiles than can be counted");
    }
    statistics.Merge(of_later);
    merged = EntryOf(entry.variable(), statistics);
  } else {
    merged = entry;
  }
  merged.set_min(std::min(entry.min(), later.min()));
  merged.set_max(std::max(entry.max(), later.max()));
  return merged;
}

}  // namespace

void ValueStatistics::AddSample(double largest) {
  average_sum = kMovingRate * average_sum + largest;
  average_weight = kMovingRate * average_weight + 1;
  ++samples;
}

void ValueStatistics::Merge(const ValueStatistics& later) {
  histogram.Merge(later.histogram);
  const double left = std::pow(kMovingRate, static_cast<double>(later.samples));
  average_sum = left * average_sum + later.average_sum;
  average_weight = left * average_weight + later.average_weight;
  samples += later.samples;
}

RangeProfile::Entry EntryOf(const std::string& variable, const ValueStatistics& statistics) {
  const BitHistogram& histogram = statistics.histogram;
  RangeProfile::Entry entry;
  entry.set_variable(variable);
  entry.set_min(histogram.min());
  entry.set_max(histogram.max());
  entry.set_samples(statistics.samples);
  entry.set_count(histogram.count());
  if (histogram.infinite_count() > 0) entry.set_infinite_count(histogram.infinite_count());
  entry.mutable_moving_average()->set_sum(statistics.average_sum);
  entry.mutable_moving_average()->set_weight(statistics.average_weight);
  StoreBins(histogram.positive(), entry.mutable_positive());
  if (!histogram.negative().empty()) {
    StoreBins(histogram.negative(), entry.mutable_negative());
  }
  return entry;
}

bool HasDistribution(const RangeProfile::Entry& entry) {
  return entry.has_positive() || entry.has_negative();
}

absl::StatusOr<ValueStatistics> StatisticsOf(const RangeProfile::Entry& entry) {
  if (!std::isfinite(entry.min()) || !std::isfinite(entry.max()) || entry.min() > entry.max()) {
    return Wrong(entry, "goes from ", entry.min(), " to ", entry.max(),
                 "; a range is finite, and min is not above max");
  }
  int64_t total = 0;
  ASSIGN_OR_RETURN(const std::vector<int64_t> positive,
                   ReadBins(entry, entry.positive(), "positive", &total));
  ASSIGN_OR_RETURN(const std::vector<int64_t> negative,
                   ReadBins(entry, entry.negative(), "negative", &total));
  if (entry.has_count() && entry.count() != total) {
    return Wrong(entry, "count is ", entry.count(), ", and its bins have ", total, " values");
  }
  const RangeProfile::MovingAverage& average = entry.moving_average();
  if (!std::isfinite(average.sum()) || !(average.weight() >= 0) ||
      !std::isfinite(average.weight()) || entry.samples() < 0 || entry.infinite_count() < 0) {
    return Wrong(entry, "samples, infinite_count or moving_average is negative or not finite");
  }
  const bool has_negative = entry.negative().bins_size() > 0;
  ValueStatistics statistics;
  statistics.histogram =
      BitHistogram::Of(positive, has_negative ? negative : std::vector<int64_t>(), entry.min(),
                       entry.max(), entry.infinite_count());
  statistics.samples = entry.samples();
  statistics.average_sum = average.sum();
  statistics.average_weight = average.weight();
  return statistics;
}

absl::StatusOr<ValueRange> ChooseRange(const RangeProfile::Entry& entry, const QuantSpec& spec) {
  const ValueRange own = {entry.min(), entry.max()};
  if (spec.range_rule() == QuantSpec::MIN_MAX || !HasDistribution(entry)) return own;
  ASSIGN_OR_RETURN(const ValueStatistics statistics, StatisticsOf(entry));
  const bool is_average = spec.range_rule() == QuantSpec::MOVING_AVERAGE;
  if (is_average && statistics.average_weight == 0) return own;
  const ValueRange chosen = is_average
                                ? RangeWithin(statistics.histogram, statistics.MovingAverage())
                                : RangeByRule(statistics.histogram, spec);
  return ValueRange{std::clamp(chosen.min, own.min, own.max),
                    std::clamp(chosen.max, own.min, own.max)};
}

absl::Status MergeProfiles(const RangeProfile& later, RangeProfile* profile) {
  RETURN_IF_ERROR(CheckSame("program", profile->has_program_hash(), profile->program_hash(),
                            later.has_program_hash(), later.program_hash()));
  RETURN_IF_ERROR(CheckSame("parameters", profile->has_parameters_hash(),
                            profile->parameters_hash(), later.has_parameters_hash(),
                            later.parameters_hash()));
  RETURN_IF_ERROR(CheckNoSampleIsCommon(*profile, later));
  RETURN_IF_ERROR(CheckVariables(*profile));
  RETURN_IF_ERROR(CheckVariables(later));
  RangeProfile merged = *profile;
  absl::flat_hash_map<absl::string_view, int> places;
  for (int i = 0; i < profile->entries_size(); ++i) places[profile->entries(i).variable()] = i;
  for (const RangeProfile::Entry& entry : later.entries()) {
    const auto place = places.find(entry.variable());
    if (place == places.end()) {
      *merged.add_entries() = entry;
      continue;
    }
    ASSIGN_OR_RETURN(*merged.mutable_entries(place->second),
                     MergedEntry(profile->entries(place->second), entry));
  }
  for (const RangeProfile::Samples& samples : later.samples()) {
    RangeProfile::Samples* alike = nullptr;
    for (RangeProfile::Samples& known : *merged.mutable_samples()) {
      if (known.data_hash() == samples.data_hash()) alike = &known;
    }
    if (alike == nullptr) {
      *merged.add_samples() = samples;
    } else {
      alike->mutable_ids()->MergeFrom(samples.ids());
    }
  }
  *profile = std::move(merged);
  return absl::OkStatus();
}

}  // namespace fixpoint
