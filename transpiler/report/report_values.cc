#include "transpiler/report/report_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ops/code_range.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "runtime/channel_view.h"
#include "runtime/statistics/range_profile.h"
#include "runtime/statistics/range_rules.h"
#include "runtime/statistics/weight_ranges.h"
#include "runtime/tensor.h"
#include "transpiler/report/coded_range.h"

namespace fixpoint {
namespace {

constexpr int kParts = 48;

void SetSeen(const BitHistogram& values, RunReport::Value* value) {
  value->set_min(values.min());
  value->set_max(values.max());
  *value->mutable_histogram() = CoarseHistogram(values);
}

double Decibels(double signal, double noise) {
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

// By the axis of a spec; one channel if it has none, or the weight has no such axis.
ChannelView ChannelsOf(const Tensor& weight, const QuantSpec& spec) {
  const bool has_axis =
      spec.has_axis() && spec.axis() >= 0 && spec.axis() < static_cast<int>(weight.dims().size());
  return ChannelView(weight.dims(), has_axis ? spec.axis() : -1);
}

void DescribeChannels(const std::vector<float>& largest, RunReport::Value* value) {
  value->set_channels(static_cast<int64_t>(largest.size()));
  value->set_dead_channels(std::count(largest.begin(), largest.end(), 0.0f));
  float low = 0;
  float high = 0;
  for (const float range : largest) {
    if (range > 0 && (low == 0 || range < low)) low = range;
    high = std::max(high, range);
  }
  if (low > 0) value->set_channel_spread(static_cast<double>(high) / static_cast<double>(low));
}

// The larger magnitude of each.
std::vector<float> LargestOf(const std::vector<ValueRange>& ranges) {
  std::vector<float> largest;
  for (const ValueRange& range : ranges) largest.push_back(std::max(-range.min, range.max));
  return largest;
}

void DescribeRounding(absl::Span<const float> weight, const ChannelView& channels,
                      const std::vector<float>& ranges, RunReport::Value* value) {
  const CodeRange codes = CodeRangeOf(value->spec());
  double signal = 0;
  double noise = 0;
  size_t clipped = 0;
  for (size_t i = 0; i < weight.size(); ++i) {
    const float range = ranges[ranges.size() == 1 ? 0 : channels.ChannelOf(i)];
    const float held = std::clamp(weight[i], -range, range);
    const float rounded = DequantizeOne(QuantizeOne(held, range, codes), range, codes.largest);
    const double error = static_cast<double>(rounded) - static_cast<double>(weight[i]);
    signal += static_cast<double>(weight[i]) * static_cast<double>(weight[i]);
    noise += error * error;
    if (std::fabs(weight[i]) > range) ++clipped;
  }
  value->set_clipped(static_cast<double>(clipped) / static_cast<double>(weight.size()));
  if (signal > 0) value->set_signal_to_noise(Decibels(signal, noise));
}

void DescribeWeight(const Tensor& tensor, RunReport::Value* value) {
  const absl::Span<const float> weight = tensor.data<float>();
  BitHistogram histogram;
  histogram.Add(weight);
  SetSeen(histogram, value);
  const ChannelView channels = ChannelsOf(tensor, value->spec());
  std::vector<float> ends(channels.channels);
  for (size_t i = 0; i < weight.size(); ++i) {
    float& end = ends[channels.ChannelOf(i)];
    end = std::max(end, std::fabs(weight[i]));
  }
  if (channels.channels > 1) DescribeChannels(ends, value);
  const QuantSpec& spec = value->spec();
  if (spec.scheme() != QuantSpec::SYMMETRIC || !AreBits(spec.bits())) return;
  const bool is_per_channel = spec.granularity() == QuantSpec::PER_CHANNEL;
  // Of the ranges of channels, a report has the widest one only.
  if (is_per_channel && value->has_high()) return;
  if (!is_per_channel) {
    ends = {value->has_high() ? value->high() : std::max(-histogram.min(), histogram.max())};
  }
  if (!value->has_high()) {
    if (spec.range_rule() != QuantSpec::MIN_MAX) {
      const ChannelView of_ranges = is_per_channel ? channels : ChannelView(tensor.dims(), -1);
      ends = LargestOf(WeightRanges(weight, of_ranges, spec));
    }
    const float widest = *std::max_element(ends.begin(), ends.end());
    SetRange({-widest, widest}, value);
  }
  DescribeRounding(weight, channels, ends, value);
}

}  // namespace

RunReport::Histogram CoarseHistogram(const BitHistogram& values) {
  RunReport::Histogram histogram;
  if (values.count() == 0) return histogram;
  const auto low = static_cast<double>(values.min());
  const auto high = static_cast<double>(values.max());
  const int parts = low == high ? 1 : kParts;
  std::vector<double> edges;
  for (int i = 0; i <= parts; ++i) edges.push_back(low + (high - low) * i / parts);
  edges.back() = high;
  // How many values lie below an edge, rounded; so no value is counted twice, and none is lost.
  const std::vector<BitHistogram::Bin> bins = values.Bins();
  size_t bin = 0;
  int64_t below = 0;     // in the bins that end before the edge
  int64_t last_sum = 0;  // below the last edge
  histogram.add_edges(values.min());
  for (int i = 1; i <= parts; ++i) {
    const double edge = edges[static_cast<size_t>(i)];
    while (bin < bins.size() && (i == parts || bins[bin].high < edge)) below += bins[bin++].count;
    int64_t sum = below;
    if (bin < bins.size() && bins[bin].low < edge) {
      const double share = (edge - bins[bin].low) / (bins[bin].high - bins[bin].low);
      sum += static_cast<int64_t>(share * static_cast<double>(bins[bin].count));
    }
    histogram.add_edges(static_cast<float>(edge));
    histogram.add_counts(sum - last_sum);
    last_sum = sum;
  }
  return histogram;
}

absl::Status AddProfile(const RangeProfile& profile, RunReport* report) {
  absl::flat_hash_map<std::string, const RangeProfile::Entry*> entries;
  for (const RangeProfile::Entry& entry : profile.entries()) entries[entry.variable()] = &entry;
  for (RunReport::Value& value : *report->mutable_values()) {
    const auto found = entries.find(value.variable());
    if (found == entries.end() || value.role() == SlotRole::WEIGHT) continue;
    const RangeProfile::Entry& entry = *found->second;
    const QuantSpec& spec = value.spec();
    const bool is_coded = value.role() != SlotRole::BIAS && AreBits(spec.bits());
    if (is_coded && !value.has_high()) {
      ASSIGN_OR_RETURN(const ValueRange range, ChooseRange(entry, spec));
      SetRange(range, &value);
    }
    if (!HasDistribution(entry)) {
      value.set_min(entry.min());
      value.set_max(entry.max());
      continue;
    }
    ASSIGN_OR_RETURN(const ValueStatistics statistics, StatisticsOf(entry));
    SetSeen(statistics.histogram, &value);
    if (!is_coded) continue;
    const RangeError error =
        FindRangeError(statistics.histogram, {value.low(), value.high()}, CodingOf(spec));
    value.set_clipped(error.clipped);
    value.set_signal_to_noise(SignalToNoise(statistics.histogram, error));
  }
  return absl::OkStatus();
}

void AddWeights(const Scope& parameters, RunReport* report) {
  for (RunReport::Value& value : *report->mutable_values()) {
    if (value.role() != SlotRole::WEIGHT) continue;
    const Scope::Value* found = parameters.FindOrNull(value.variable());
    if (found == nullptr) continue;
    const auto* tensor = std::get_if<Tensor>(found);
    if (tensor == nullptr || tensor->dtype() != VarType::FP32 || tensor->size() == 0) continue;
    DescribeWeight(*tensor, &value);
  }
}

}  // namespace fixpoint
