// Statistics of values as a profile stores them (proto/config/range_profile.proto), and profiles
// of several runs merged.

#ifndef FIXPOINT_RUNTIME_STATISTICS_RANGE_PROFILE_H_
#define FIXPOINT_RUNTIME_STATISTICS_RANGE_PROFILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/config/range_profile.pb.h"
#include "runtime/statistics/bit_histogram.h"
#include "runtime/statistics/range_rules.h"

namespace fixpoint {

// How much of a moving average a sample leaves.
inline constexpr double kMovingRate = 0.99;

struct ValueStatistics {
  BitHistogram histogram;
  int64_t samples = 0;  // in which the value was written
  // RangeProfile::MovingAverage.
  double average_sum = 0;
  double average_weight = 0;

  // Takes in the largest magnitude of the next sample.
  void AddSample(double largest);
  // Takes in those of the samples that ran after these, as if they had been added one by one, up to
  // the rounding of doubles.
  void Merge(const ValueStatistics& later);
  double MovingAverage() const { return average_weight > 0 ? average_sum / average_weight : 0; }
};

RangeProfile::Entry EntryOf(const std::string& variable, const ValueStatistics& statistics);

// Whether an entry says how values are distributed, and not only their range.
bool HasDistribution(const RangeProfile::Entry& entry);

// What EntryOf stored. Error (kInvalidArgument): "<variable>: ..." if bins are not in order, a
// count is negative, their sum is not the entry's count or exceeds an int64, or numbers are not
// finite.
absl::StatusOr<ValueStatistics> StatisticsOf(const RangeProfile::Entry& entry);

// The range that a spec's rule chooses (RangeByRule), within the entry's own, which may have been
// edited; without a distribution, or the moving average that the rule asks for, the entry's own.
// Errors: those of StatisticsOf.
absl::StatusOr<ValueRange> ChooseRange(const RangeProfile::Entry& entry, const QuantSpec& spec);

// Adds to a profile what later samples gave. Counts and ranges do not depend on the order of
// profiles; moving averages are those of the samples in the order of the profiles. Errors, which
// leave it as it was: kFailedPrecondition: the profiles are of other programs or parameters, or
// have a sample in common; kInvalidArgument: a variable is twice in a profile, has a distribution
// in only one of them, or those of StatisticsOf.
absl::Status MergeProfiles(const RangeProfile& later, RangeProfile* profile);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_STATISTICS_RANGE_PROFILE_H_
