#include "tools/ranges_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/program/program.h"
#include "tools/json.h"

namespace fixpoint {
namespace {

constexpr size_t kFirstChannels = 8;

std::string CodesText(const LearnedRange& range) {
  if (range.is_observed) return "-";
  return absl::StrCat(range.codes.smallest, "..", range.codes.largest);
}

// The quantizer, or the op where it belongs to none.
std::string QuantizerText(const LearnedRange& range) {
  return range.quantizer.empty() ? range.op->type() : range.quantizer;
}

absl::string_view RoleText(const LearnedRange& range) {
  if (range.is_observed) return "observed";
  return range.is_weight ? "weight" : "activation";
}

// Of all channels.
std::string RangeText(const LearnedRange& range) {
  if (range.scales.empty()) return absl::StrFormat("%12s  %12s", "each run", "each run");
  float min = range.Smallest(0);
  float max = range.Max(0);
  for (size_t i = 1; i < range.scales.size(); ++i) {
    min = std::min(min, range.Smallest(i));
    max = std::max(max, range.Max(i));
  }
  return absl::StrFormat("%12.6g  %12.6g", min, max);
}

std::string ZeroPointText(const LearnedRange& range, size_t channel) {
  return range.is_affine ? absl::StrFormat("%g", range.zero_points[channel]) : "-";
}

void AppendChannels(const LearnedRange& range, size_t indent, std::string* text) {
  const size_t shown = std::min(kFirstChannels, range.scales.size());
  for (size_t i = 0; i < shown; ++i) {
    absl::StrAppendFormat(text, "%-*s  %12.6g  %12.6g  %12.6g  %s\n", indent,
                          absl::StrCat("  channel ", i), range.Smallest(i), range.Max(i),
                          range.Step(i), ZeroPointText(range, i));
  }
  if (range.scales.size() > shown) {
    absl::StrAppend(text, "  and ", range.scales.size() - shown, " more channels\n");
  }
}

}  // namespace

std::string RangesText(const std::vector<LearnedRange>& ranges) {
  size_t names = 8;
  size_t quantizers = 9;
  size_t codes = 5;
  for (const LearnedRange& range : ranges) {
    names = std::max(names, range.variable().size());
    quantizers = std::max(quantizers, QuantizerText(range).size());
    codes = std::max(codes, CodesText(range).size());
  }
  std::string text = absl::StrFormat("%-*s  %-10s  %-*s  %-*s  %4s  %12s  %12s  %12s  %s\n", names,
                                     "variable", "role", quantizers, "quantizer", codes, "codes",
                                     "axis", "smallest", "largest", "step", "zero point");
  for (const LearnedRange& range : ranges) {
    const bool is_one = range.scales.size() == 1 && !range.is_observed;
    const std::string step = is_one ? absl::StrFormat("%.6g", range.Step(0)) : "-";
    const std::string start =
        absl::StrFormat("%-*s  %-10s  %-*s  %-*s  %4s", names, range.variable(), RoleText(range),
                        quantizers, QuantizerText(range), codes, CodesText(range),
                        range.axis == -1 ? "-" : absl::StrCat(range.axis));
    absl::StrAppendFormat(&text, "%s  %s  %12s  %s\n", start, RangeText(range), step,
                          is_one ? ZeroPointText(range, 0) : "-");
    if (range.scales.size() > 1) AppendChannels(range, start.size(), &text);
  }
  return text;
}

std::string RangesJson(absl::string_view file, const std::vector<LearnedRange>& ranges) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("file").String(file);
  json.Key("values").BeginArray();
  for (const LearnedRange& range : ranges) {
    json.BeginObject();
    json.Key("variable").String(range.variable());
    json.Key("role").String(RoleText(range));
    json.Key("op").String(range.op->type());
    if (!range.quantizer.empty()) json.Key("quantizer").String(range.quantizer);
    if (!range.is_observed) {
      json.Key("bits").Int(range.codes.bits);
      json.Key("smallest_code").Int(range.codes.smallest);
      json.Key("largest_code").Int(range.codes.largest);
    }
    if (range.axis != -1) json.Key("axis").Int(range.axis);
    json.Key("kept").Bool(!range.scales.empty());
    const auto list = [&](absl::string_view key, const auto& write) {
      json.Key(key).BeginArray();
      for (size_t i = 0; i < range.scales.size(); ++i) write(i);
      json.EndArray();
    };
    list("min", [&](size_t i) { json.Float(range.Smallest(i)); });
    list("max", [&](size_t i) { json.Float(range.Max(i)); });
    if (!range.is_observed) list("step", [&](size_t i) { json.Float(range.Step(i)); });
    if (range.is_affine) list("zero_point", [&](size_t i) { json.Float(range.zero_points[i]); });
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace fixpoint
