#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ops/era.h"
#include "tools/program_stats.h"

namespace fixpoint {
namespace {

struct TensorTotals {
  int64_t tensors = 0;
  double bytes = 0;  // only printed: a double, so that no sum overflows
};

TensorTotals Total(const std::vector<TensorTypeCount>& counts) {
  TensorTotals totals;
  for (const TensorTypeCount& count : counts) {
    totals.tensors += count.tensors;
    totals.bytes += static_cast<double>(count.bytes);
  }
  return totals;
}

void AppendLine(absl::string_view what, absl::string_view text, std::string* out) {
  absl::StrAppendFormat(out, "%-12s%s\n", what, text);
}

std::string VersionText(int64_t version) {
  const std::string release = ReleaseName(version);
  return release.empty() ? absl::StrCat(version) : absl::StrCat(version, " (", release, ")");
}

std::string RolesText(const RoleCounts& ops) {
  return absl::StrCat(ops.total(), ": ", ops.forward, " forward, ", ops.backward, " backward, ",
                      ops.optimizer, " optimizer, ", ops.learning_rate, " learning rate, ",
                      ops.other, " other");
}

std::string TotalText(const std::vector<TensorTypeCount>& counts) {
  const TensorTotals totals = Total(counts);
  return absl::StrFormat("%d tensors, %.0f bytes", totals.tensors, totals.bytes);
}

void AppendNames(absl::string_view what, const std::vector<NamedType>& names, std::string* out) {
  if (names.empty()) return AppendLine(what, "none", out);
  for (size_t i = 0; i < names.size(); ++i) {
    AppendLine(i == 0 ? what : "", absl::StrCat(names[i].name, " ", names[i].type), out);
  }
}

void AppendOpTable(const ProgramStats& stats, std::string* out) {
  size_t width = 8;
  for (const OpTypeCount& count : stats.op_types) width = std::max(width, count.type.size());
  absl::StrAppendFormat(out, "\n%-*s  %7s  %7s  %8s  %9s  %13s  %5s\n", width, "op type", "count",
                        "forward", "backward", "optimizer", "learning rate", "other");
  for (const auto& [type, ops] : stats.op_types) {
    absl::StrAppendFormat(out, "%-*s  %7d  %7d  %8d  %9d  %13d  %5d\n", width, type, ops.total(),
                          ops.forward, ops.backward, ops.optimizer, ops.learning_rate, ops.other);
  }
}

std::string QuantizedText(const QuantizationSummary& quantization) {
  if (quantization.writer.empty()) return "no";
  return absl::StrCat(quantization.counts.empty() ? "no; changed by " : "by ", quantization.writer);
}

void AppendQuantizationTable(const QuantizationSummary& quantization, std::string* out) {
  if (quantization.counts.empty()) return;
  size_t width = 0;
  for (const QuantizationSummary::Count& count : quantization.counts) {
    width = std::max(width, count.op_type.size());
  }
  absl::StrAppendFormat(out, "\n%-*s  %4s  %10s  %14s\n", width, "quantizers", "bits", "of weights",
                        "of activations");
  for (const QuantizationSummary::Count& count : quantization.counts) {
    absl::StrAppendFormat(out, "%-*s  %4s  %10d  %14d\n", width, count.op_type,
                          count.bits == 0 ? "-" : absl::StrCat(count.bits), count.weights,
                          count.activations);
  }
}

void WriteQuantization(const QuantizationSummary& quantization, JsonWriter* json) {
  json->BeginObject();
  json->Key("by").String(quantization.counts.empty() ? "" : quantization.writer);
  json->Key("changed_by").String(quantization.writer);
  json->Key("quantizers").BeginArray();
  for (const QuantizationSummary::Count& count : quantization.counts) {
    json->BeginObject();
    json->Key("activations").Int(count.activations);
    json->Key("bits").Int(count.bits);
    json->Key("type").String(count.op_type);
    json->Key("weights").Int(count.weights);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

void AppendTensorTable(absl::string_view title, const std::vector<TensorTypeCount>& counts,
                       std::string* out) {
  if (counts.empty()) return;
  size_t width = title.size();
  for (const TensorTypeCount& count : counts) width = std::max(width, count.type.size());
  absl::StrAppendFormat(out, "\n%-*s  %7s  %12s\n", width, title, "count", "bytes");
  for (const TensorTypeCount& count : counts) {
    absl::StrAppendFormat(out, "%-*s  %7d  %12d\n", width, count.type, count.tensors, count.bytes);
  }
}

void WriteRoles(const RoleCounts& ops, JsonWriter* json) {
  json->BeginObject();
  json->Key("backward").Int(ops.backward);
  json->Key("forward").Int(ops.forward);
  json->Key("learning_rate").Int(ops.learning_rate);
  json->Key("optimizer").Int(ops.optimizer);
  json->Key("other").Int(ops.other);
  json->Key("total").Int(ops.total());
  json->EndObject();
}

void WriteTensors(const std::vector<TensorTypeCount>& counts, JsonWriter* json) {
  json->BeginArray();
  for (const TensorTypeCount& count : counts) {
    json->BeginObject();
    json->Key("bytes").Int(count.bytes);
    json->Key("tensors").Int(count.tensors);
    json->Key("type").String(count.type);
    json->EndObject();
  }
  json->EndArray();
}

void WriteNames(const std::vector<NamedType>& names, JsonWriter* json) {
  json->BeginArray();
  for (const NamedType& name : names) {
    json->BeginObject();
    json->Key("name").String(name.name);
    json->Key("type").String(name.type);
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace

std::string PrintStats(const ProgramStats& stats) {
  int variables = 0;
  for (const ProgramStats::BlockCount& block : stats.blocks) variables += block.variables;
  std::string out;
  AppendLine("version", VersionText(stats.version), &out);
  AppendLine("edit log", stats.has_edit_log ? "yes" : "no", &out);
  AppendLine("quantized", QuantizedText(stats.quantization), &out);
  AppendLine("blocks", absl::StrCat(stats.blocks.size()), &out);
  AppendLine("variables", absl::StrCat(variables), &out);
  AppendLine("ops", RolesText(stats.ops), &out);
  AppendLine("parameters", TotalText(stats.parameters), &out);
  AppendLine("other state", TotalText(stats.state), &out);
  AppendNames("feeds", stats.feeds, &out);
  AppendNames("fetches", stats.fetches, &out);
  AppendOpTable(stats, &out);
  AppendQuantizationTable(stats.quantization, &out);
  AppendTensorTable("parameters", stats.parameters, &out);
  AppendTensorTable("other state", stats.state, &out);
  return out;
}

void WriteStats(const ProgramStats& stats, JsonWriter* json) {
  json->Key("blocks").BeginArray();
  for (const ProgramStats::BlockCount& block : stats.blocks) {
    json->BeginObject();
    json->Key("ops").Int(block.ops);
    json->Key("variables").Int(block.variables);
    json->EndObject();
  }
  json->EndArray();
  json->Key("edit_log").Bool(stats.has_edit_log);
  json->Key("feeds");
  WriteNames(stats.feeds, json);
  json->Key("fetches");
  WriteNames(stats.fetches, json);
  json->Key("op_types").BeginArray();
  for (const OpTypeCount& count : stats.op_types) {
    json->BeginObject();
    json->Key("ops");
    WriteRoles(count.ops, json);
    json->Key("type").String(count.type);
    json->EndObject();
  }
  json->EndArray();
  json->Key("ops");
  WriteRoles(stats.ops, json);
  json->Key("parameters");
  WriteTensors(stats.parameters, json);
  json->Key("quantization");
  WriteQuantization(stats.quantization, json);
  json->Key("release").String(ReleaseName(stats.version));
  json->Key("state");
  WriteTensors(stats.state, json);
  json->Key("version").Int(stats.version);
}

}  // namespace fixpoint
