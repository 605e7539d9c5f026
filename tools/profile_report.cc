#include "tools/profile_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "runtime/statistics/bit_histogram.h"
#include "runtime/statistics/range_profile.h"
#include "tools/json.h"

namespace fixpoint {
namespace {

constexpr QuantSpec::RangeRule kRules[] = {QuantSpec::MIN_MAX, QuantSpec::PERCENTILE,
                                           QuantSpec::MSE, QuantSpec::KL,
                                           QuantSpec::MOVING_AVERAGE};

std::string RuleName(QuantSpec::RangeRule rule) {
  return absl::AsciiStrToLower(QuantSpec::RangeRule_Name(rule));
}

QuantSpec SpecOf(const RangeProfile::Entry& entry, int bits) {
  QuantSpec spec;
  spec.set_bits(bits);
  spec.set_scheme(QuantSpec::SYMMETRIC);
  spec.set_signedness(entry.min() < 0 ? QuantSpec::SIGNED : QuantSpec::UNSIGNED);
  spec.set_rounding(QuantSpec::HALF_TO_EVEN);
  return spec;
}

int64_t SampleCount(const RangeProfile& profile) {
  int64_t count = 0;
  for (const RangeProfile::Samples& samples : profile.samples()) count += samples.ids_size();
  return count;
}

// Half of the sum of the differences between the bins' shares: 0 for equal distributions, 1 for
// those without a bin in common.
double Distance(const BitHistogram& a, const BitHistogram& b) {
  double sum = 0;
  const auto add = [&](absl::Span<const int64_t> of_a, absl::Span<const int64_t> of_b) {
    for (size_t i = 0; i < std::max(of_a.size(), of_b.size()); ++i) {
      const auto share = [i](absl::Span<const int64_t> counts, int64_t count) {
        return i < counts.size() && count > 0
                   ? static_cast<double>(counts[i]) / static_cast<double>(count)
                   : 0;
      };
      sum += std::fabs(share(of_a, a.count()) - share(of_b, b.count()));
    }
  };
  add(a.positive(), b.positive());
  add(a.negative(), b.negative());
  return sum / 2;
}

// "min -1 and -2, 4 and 8 values"; "" if the entries are equal.
absl::StatusOr<std::string> EntryDifferences(const RangeProfile::Entry& a,
                                             const RangeProfile::Entry& b) {
  ASSIGN_OR_RETURN(const ValueStatistics of_a, StatisticsOf(a));
  ASSIGN_OR_RETURN(const ValueStatistics of_b, StatisticsOf(b));
  std::vector<std::string> differences;
  const auto compare = [&differences](absl::string_view what, auto x, auto y) {
    if (x != y) differences.push_back(absl::StrCat(what, " ", x, " and ", y));
  };
  compare("min", a.min(), b.min());
  compare("max", a.max(), b.max());
  compare("moving average", of_a.MovingAverage(), of_b.MovingAverage());
  compare("samples", a.samples(), b.samples());
  compare("values", a.count(), b.count());
  compare("infinite values", a.infinite_count(), b.infinite_count());
  const double distance = Distance(of_a.histogram, of_b.histogram);
  if (distance > 0) {
    differences.push_back(
        absl::StrFormat("%.3g %% of the values distributed otherwise", 100 * distance));
  }
  return absl::StrJoin(differences, "; ");
}

}  // namespace

absl::StatusOr<std::vector<ProfiledVariable>> ProfiledVariables(const RangeProfile& profile,
                                                                int bits) {
  std::vector<ProfiledVariable> variables;
  for (const RangeProfile::Entry& entry : profile.entries()) {
    ASSIGN_OR_RETURN(const ValueStatistics statistics, StatisticsOf(entry));
    ProfiledVariable& variable = variables.emplace_back();
    variable.entry = &entry;
    variable.average = statistics.MovingAverage();
    if (!HasDistribution(entry)) continue;
    QuantSpec spec = SpecOf(entry, bits);
    for (const QuantSpec::RangeRule rule : kRules) {
      spec.set_range_rule(rule);
      ASSIGN_OR_RETURN(const ValueRange range, ChooseRange(entry, spec));
      const RangeError error = FindRangeError(statistics.histogram, range, CodingOf(spec));
      variable.ranges.push_back(
          {rule, range, error.clipped, SignalToNoise(statistics.histogram, error)});
    }
  }
  return variables;
}

std::string ProfileText(const RangeProfile& profile,
                        const std::vector<ProfiledVariable>& variables) {
  size_t width = 8;
  for (const ProfiledVariable& variable : variables) {
    width = std::max(width, variable.entry->variable().size());
  }
  std::string text =
      absl::StrFormat("%-*s  %12s  %10s  %-14s  %10s  %10s  %9s  %9s\n", width, "variable",
                      "values", "average", "rule", "min", "max", "clipped", "SNR");
  for (const ProfiledVariable& variable : variables) {
    const RangeProfile::Entry& entry = *variable.entry;
    if (variable.ranges.empty()) {
      absl::StrAppendFormat(&text, "%-*s  %12s  %10s  %-14s  %10.4g  %10.4g  %9s  %9s\n", width,
                            entry.variable(), "-", "-", "-", entry.min(), entry.max(), "-", "-");
    }
    for (const ProfiledRange& range : variable.ranges) {
      const bool is_first = &range == &variable.ranges.front();
      absl::StrAppendFormat(
          &text, "%-*s  %12s  %10s  %-14s  %10.4g  %10.4g  %9s  %9s\n", width,
          is_first ? entry.variable() : "", is_first ? absl::StrCat(entry.count()) : "",
          is_first ? absl::StrFormat("%.4g", variable.average) : "", RuleName(range.rule),
          range.range.min, range.range.max,
          range.clipped > 0 ? absl::StrFormat("%.4f %%", 100 * range.clipped) : "-",
          std::isinf(range.signal_to_noise) ? "exact"
                                            : absl::StrFormat("%.1f dB", range.signal_to_noise));
    }
  }
  absl::StrAppend(&text, variables.size(), variables.size() == 1 ? " variable" : " variables");
  if (SampleCount(profile) > 0) absl::StrAppend(&text, ", ", SampleCount(profile), " samples");
  return text + "\n";
}

std::string ProfileJson(const std::string& file, const RangeProfile& profile,
                        const std::vector<ProfiledVariable>& variables) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("file").String(file);
  json.Key("samples").Int(SampleCount(profile));
  json.Key("variables").BeginArray();
  for (const ProfiledVariable& variable : variables) {
    const RangeProfile::Entry& entry = *variable.entry;
    json.BeginObject();
    json.Key("name").String(entry.variable());
    json.Key("min").Double(entry.min());
    json.Key("max").Double(entry.max());
    json.Key("values").Int(entry.count());
    json.Key("infinite_values").Int(entry.infinite_count());
    json.Key("moving_average").Double(variable.average);
    json.Key("rules").BeginArray();
    for (const ProfiledRange& range : variable.ranges) {
      json.BeginObject();
      json.Key("rule").String(RuleName(range.rule));
      json.Key("min").Double(range.range.min);
      json.Key("max").Double(range.range.max);
      json.Key("clipped").Double(range.clipped);
      json.Key("signal_to_noise_db").Double(range.signal_to_noise);
      json.EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

absl::StatusOr<std::string> ProfileDifferences(const RangeProfile& a, const RangeProfile& b) {
  absl::flat_hash_map<absl::string_view, const RangeProfile::Entry*> of_b;
  for (const RangeProfile::Entry& entry : b.entries()) of_b[entry.variable()] = &entry;
  std::string text;
  for (const RangeProfile::Entry& entry : a.entries()) {
    const auto other = of_b.find(entry.variable());
    if (other == of_b.end()) {
      absl::StrAppend(&text, "- ", entry.variable(), "\n");
      continue;
    }
    ASSIGN_OR_RETURN(const std::string differences, EntryDifferences(entry, *other->second));
    if (!differences.empty())
      absl::StrAppend(&text, "~ ", entry.variable(), ": ", differences, "\n");
    of_b.erase(other);
  }
  for (const RangeProfile::Entry& entry : b.entries()) {
    if (of_b.contains(entry.variable())) absl::StrAppend(&text, "+ ", entry.variable(), "\n");
  }
  return text;
}

}  // namespace fixpoint
