#include "transpiler/report/advice.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "transpiler/plan/reasons.h"
#include "transpiler/report/layers.h"
#include "transpiler/report/lowering_account.h"

namespace fixpoint {
namespace {

using Value = RunReport::Value;
using Op = RunReport::Op;

// Below this ratio the error of a value is more than 3 % of it, which 8 bits that fit keep.
constexpr double kLowDecibels = 30;
// Percentiles below 99.99 cost accuracy.
constexpr double kMuchClipped = 1e-3;
// The channel with the smallest range uses an eighth of the codes: 3 bits are lost.
constexpr double kMuchSpread = 8;
// A range of which nearly all values use an eighth.
constexpr double kFarOut = 8;
constexpr double kNearlyAll = 0.999;
// Ends of which one is this many times the other waste most codes of a sign.
constexpr double kOneSided = 4;

bool IsCoded(const Value& value) {
  return !value.observed_only() && value.role() != SlotRole::BIAS && value.spec().has_bits();
}
bool IsLow(const Value& value) {
  return value.has_signal_to_noise() && value.signal_to_noise() < kLowDecibels;
}
bool IsWeight(const Value& value) { return value.role() == SlotRole::WEIGHT; }
bool IsPerChannel(const Value& value) {
  return value.spec().granularity() == QuantSpec::PER_CHANNEL;
}
std::string Percent(double share) { return absl::StrFormat("%.2g %%", 100 * share); }

// The share of the values whose magnitude is at most `limit`, by the middles of the parts.
double ShareWithin(const RunReport::Histogram& histogram, double limit) {
  double within = 0;
  double all = 0;
  for (int i = 0; i < histogram.counts_size(); ++i) {
    const auto count = static_cast<double>(histogram.counts(i));
    const double middle =
        (static_cast<double>(histogram.edges(i)) + static_cast<double>(histogram.edges(i + 1))) / 2;
    all += count;
    if (std::fabs(middle) <= limit) within += count;
  }
  return all > 0 ? within / all : 0;
}

bool HasOutliers(const Value& value) {
  if (!value.has_high() || value.histogram().counts_size() == 0) return false;
  const auto range = static_cast<double>(std::max(-value.low(), value.high()));
  return ShareWithin(value.histogram(), range / kFarOut) >= kNearlyAll;
}

// Signed symmetric codes for values of which one sign reaches much farther than the other.
bool IsOneSided(const Value& value) {
  const double low = std::fabs(static_cast<double>(value.min()));
  const double high = std::fabs(static_cast<double>(value.max()));
  return value.has_min() && value.spec().scheme() == QuantSpec::SYMMETRIC &&
         value.spec().signedness() != QuantSpec::UNSIGNED && value.min() < 0 && value.max() > 0 &&
         std::max(low, high) > kOneSided * std::min(low, high);
}

struct ValueRow {
  const char* code;
  bool (*applies)(const Value& value);
  std::string (*text)(const Value& value);
};

constexpr ValueRow kOfValues[] = {
    // Weights are clipped only where a rule asks for it.
    {"clipped",
     [](const Value& value) {
       return IsCoded(value) && !IsWeight(value) && value.clipped() > kMuchClipped;
     },
     [](const Value& value) {
       return absl::StrCat("Its range clips ", Percent(value.clipped()),
                           " of the values. A wider one may lose less: range_rule: MIN_MAX, or "
                           "PERCENTILE with a higher percentile.");
     }},
    {"outliers",
     [](const Value& value) {
       return IsCoded(value) && IsLow(value) && !IsPerChannel(value) && HasOutliers(value);
     },
     [](const Value& value) {
       return absl::StrCat("A few values take up the range: 99.9 % lie within an eighth of it. ",
                           IsWeight(value)
                               ? "Ranges per channel (granularity: PER_CHANNEL) confine "
                                 "them to their channels."
                               : "range_rule: PERCENTILE or MSE clips them.");
     }},
    {"spread_channels",
     [](const Value& value) {
       return IsCoded(value) && IsWeight(value) && !IsPerChannel(value) &&
              value.channel_spread() > kMuchSpread;
     },
     [](const Value& value) {
       return absl::StrFormat(
           "Its widest channel has %.3g times the range of its narrowest, and all share one scale. "
           "Scales per channel (granularity: PER_CHANNEL) keep the narrow ones; where the target "
           "has none, quantize --equalize makes the ranges equal.",
           value.channel_spread());
     }},
    {"one_sided",
     [](const Value& value) { return IsCoded(value) && IsLow(value) && IsOneSided(value); },
     [](const Value&) {
       return std::string(
           "One sign reaches much farther than the other, so that symmetric codes of that sign are "
           "wasted. scheme: AFFINE uses all codes, where the target has a zero point.");
     }},
    {"never_negative",
     [](const Value& value) {
       return IsCoded(value) && IsLow(value) && value.never_negative() &&
              value.spec().scheme() == QuantSpec::SYMMETRIC &&
              value.spec().signedness() == QuantSpec::SIGNED;
     },
     [](const Value&) {
       return std::string(
           "No value can be negative, and half of the codes are. signedness: "
           "UNSIGNED_IF_NEVER_NEGATIVE gives one more bit.");
     }},
    {"few_bits",
     [](const Value& value) { return IsCoded(value) && IsLow(value) && value.spec().bits() < 8; },
     [](const Value& value) {
       return absl::StrCat("It has ", value.spec().bits(), " bits, and ",
                           absl::StrFormat("%.1f dB", value.signal_to_noise()),
                           ". Training with quantizers ",
                           IsWeight(value) ? "or rounding that is learned (quantize "
                                             "--rounding=learned), where it is not yet, makes"
                                           : "makes",
                           " up for it; so do more bits, 6 dB each.");
     }},
    {"constant",
     [](const Value& value) {
       return IsCoded(value) && value.has_min() && value.min() == value.max();
     },
     [](const Value&) {
       return std::string(
           "Every value that was seen is the same. If that is not meant, look at the data.");
     }},
    {"dead_channels", [](const Value& value) { return value.dead_channels() > 0; },
     [](const Value& value) {
       return absl::StrCat("Of ", value.channels(), " channels, ", value.dead_channels(),
                           value.dead_channels() == 1 ? " is" : " are",
                           " 0 throughout, and can be pruned.");
     }},
};

struct ReasonRow {
  Reason reason;
  const char* text;
};

// What would change a decision of the plan. A reason without a row needs no advice, or has its
// advice in its meaning.
constexpr ReasonRow kOfReasons[] = {
    {Reason::kNotInTarget,
     "The target does not compute it on integers; another one may, and a target is a text file."},
    {Reason::kOnRequest, "It is quantized on request: by a rule for it, or also_quantize."},
    {Reason::kConditionNotMet, "The target quantizes it only with other attributes."},
    {Reason::kSkippedByRule, "A rule leaves it in float; without that rule it is quantized."},
    {Reason::kSkippedByAttribute,
     "Its attribute skip_quant leaves it in float; without that it is quantized."},
    {Reason::kSkippedByScope,
     "Under another name scope, or by a target with other skip_scopes, it "
     "is quantized."},
    {Reason::kUnknownShape, "Exporting the program with declared shapes lets it be quantized."},
    {Reason::kMayBeNegative, "Signed codes, or UNSIGNED_IF_NEVER_NEGATIVE, take such values."},
    {Reason::kNoResidual,
     "It adds no residual of codes; a rule for it, or also_quantize, quantizes both inputs."},
    {Reason::kScaleNotTrainable,
     "A quantizer without trained scales, such as "
     "moving_average_abs_max, needs no gradient."},
};

struct OpRow {
  const char* code;
  bool (*applies)(const RunReport& report, const Op& op);
  const char* text;
};

bool AreValuesFine(const RunReport& report, const Op& op) {
  return std::none_of(op.values().begin(), op.values().end(),
                      [&report](int value) { return IsLow(report.values(value)); });
}

// Noise adds up over ops to a first order.
bool IsCostly(const RunReport& report, const Op& op) {
  double sum = 0;
  for (const Op& other : report.ops()) sum += other.sensitivity();
  return op.sensitivity() > 0 && 4 * op.sensitivity() >= sum;
}

constexpr OpRow kOfOps[] = {
    {"costly",
     [](const RunReport& report, const Op& op) { return op.quantized() && IsCostly(report, op); },
     "Alone it makes a quarter of the noise in the outputs, or more. A rule that gives it more "
     "bits, or leaves it in float, helps most."},
    {"from_before",
     [](const RunReport& report, const Op& op) {
       return op.values_size() > 0 && op.has_signal_to_noise() &&
              op.signal_to_noise() < kLowDecibels && AreValuesFine(report, op);
     },
     "Its own values are quantized well: most of its error comes from ops before it."},
    {"not_in_training",
     [](const RunReport&, const Op& op) {
       return op.lowered() == "not_quantized" && !op.has_quantized();
     },
     "It reads floats: quantizing the ops around it lets it join their integers."},
};

}  // namespace

std::vector<Advice> AdviceFor(const RunReport& report, const RunReport::Op& op) {
  std::vector<Advice> advice;
  for (const int index : op.values()) {
    const Value& value = report.values(index);
    for (const ValueRow& row : kOfValues) {
      if (!row.applies(value)) continue;
      advice.push_back({row.code, absl::StrCat(value.variable(), ": ", row.text(value))});
    }
  }
  for (const ReasonRow& row : kOfReasons) {
    if (StateOf(op) == OpState::kFloat && op.has_quantized() && !op.quantized() &&
        op.reason() == ReasonCode(row.reason)) {
      advice.push_back({op.reason(), row.text});
    }
  }
  for (const OpRow& row : kOfOps) {
    if (row.applies(report, op)) advice.push_back({row.code, row.text});
  }
  return advice;
}

}  // namespace fixpoint
