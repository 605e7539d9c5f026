// Profiles of ranges for people, and for programs as JSON.

#ifndef FIXPOINT_TOOLS_PROFILE_REPORT_H_
#define FIXPOINT_TOOLS_PROFILE_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/config/range_profile.pb.h"
#include "runtime/statistics/range_rules.h"

namespace fixpoint {

// The range that a rule chooses for a value, and what quantizing to it does.
struct ProfiledRange {
  QuantSpec::RangeRule rule = QuantSpec::MIN_MAX;
  ValueRange range;
  double clipped = 0;          // the share of values
  double signal_to_noise = 0;  // in dB; infinite if nothing is lost
};

struct ProfiledVariable {
  const RangeProfile::Entry* entry = nullptr;
  double average = 0;  // the moving average
  // Of each rule; none if the entry has no distribution.
  std::vector<ProfiledRange> ranges;
};

// With codes of so many bits, symmetric, and unsigned for what is never negative; the profile
// outlives the result. Errors: those of StatisticsOf.
absl::StatusOr<std::vector<ProfiledVariable>> ProfiledVariables(const RangeProfile& profile,
                                                                int bits);

// A line for each variable and rule.
std::string ProfileText(const RangeProfile& profile,
                        const std::vector<ProfiledVariable>& variables);
std::string ProfileJson(const std::string& file, const RangeProfile& profile,
                        const std::vector<ProfiledVariable>& variables);

// What is different in two profiles, a line for each variable; "" if nothing is. Errors: those of
// StatisticsOf.
absl::StatusOr<std::string> ProfileDifferences(const RangeProfile& a, const RangeProfile& b);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_PROFILE_REPORT_H_
