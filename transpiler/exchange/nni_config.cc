#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "transpiler/exchange/foreign_config.h"
#include "transpiler/exchange/nni_entry.h"
#include "transpiler/plan/rules.h"

namespace fixpoint {
namespace {

// An exclusion repeats the rules of the entries before it: each may double them.
constexpr int kMostRules = 100000;

bool IsGlob(absl::string_view name) { return name.find_first_of("*?") != absl::string_view::npos; }

// The spec that an entry has for an input of a type; nothing for addends, which stay float.
std::optional<QuantSpec> SpecFor(const NniEntry& entry, const OpSchema& schema,
                                 const QuantizableInput& input) {
  const std::optional<ProductTrait>& product = schema.traits().product;
  if (input.role == SlotRole::ADDEND) return std::nullopt;
  const bool is_weight =
      input.role == SlotRole::WEIGHT || (product && product->weight == input.slot);
  return is_weight ? entry.weight : entry.input;
}

// Rules in the order of the entries. The last rule that matches wins, and an entry's first rules
// take back what earlier ones said of what it fits.
class RuleWriter {
 public:
  explicit RuleWriter(QuantConfig* config) : config_(*config) {}

  // An exact name has to be that of a layer. Rules before all others, which take them back.
  void WriteNames(const std::string& label, const NniEntry& entry) {
    for (const std::string& name : entry.names) {
      QuantRule& rule = *config_.add_rules();
      rule.set_name(label);
      rule.set_layer(name);
      rule.set_skip(true);
    }
  }

  void WriteOthers() {
    QuantRule& others = *config_.add_rules();
    others.set_name("no entry fits");
    others.set_name_pattern("*");
    others.set_skip(true);
    others.set_optional(true);
    first_ = config_.rules_size();
  }

  absl::Status Write(const std::string& label, const NniEntry& entry) {
    label_ = label;
    const int before = config_.rules_size();
    if (entry.fits_all_names()) WriteLayers("", entry);
    for (const std::string& name : entry.names) WriteLayers(name, entry);
    for (const std::string& pattern : entry.patterns) WriteLayers(pattern, entry);
    for (const std::string& name : entry.excluded_names) {
      RETURN_IF_ERROR(TakeBack(name, before, entry));
    }
    for (const std::string& pattern : entry.excluded_patterns) {
      RETURN_IF_ERROR(TakeBack(pattern, before, entry));
    }
    if (entry.output) config_.set_observe_outputs(true);
    return absl::OkStatus();
  }

 private:
  QuantRule& Add(const std::string& type, const std::string& layer) {
    QuantRule& rule = *config_.add_rules();
    rule.set_name(label_);
    rule.set_op_type(type);
    if (!layer.empty()) rule.set_layer(layer);
    rule.set_optional(true);
    return rule;
  }

  // `layer`: a name or a glob; "" for all.
  void WriteLayers(const std::string& layer, const NniEntry& entry) {
    for (const std::string& type : entry.op_types) {
      Add(type, layer).set_skip(true);
      const OpSchema* const schema = FindOpSchema(type);
      if (schema == nullptr || entry.excludes) continue;
      for (const QuantizableInput& input : schema->quantizable_inputs()) {
        std::optional<QuantSpec> spec = SpecFor(entry, *schema, input);
        if (spec) WriteSlot(type, layer, input.slot, *std::move(spec));
      }
      if (!entry.output) continue;
      for (const std::string& output : schema->quantizable_outputs()) {
        WriteSlot(type, layer, output, *entry.output);
      }
    }
  }

  void WriteSlot(const std::string& type, const std::string& layer, const std::string& slot,
                 QuantSpec spec) {
    QuantRule& rule = Add(type, layer);
    rule.set_slot(slot);
    *rule.mutable_spec() = std::move(spec);
  }

  // Of layers that the entry excludes, those that earlier entries fit are as these say.
  absl::Status TakeBack(const std::string& layer, int before, const NniEntry& entry) {
    for (const std::string& type : entry.op_types) {
      if (config_.rules_size() > kMostRules) {
        return absl::InvalidArgumentError(
            absl::StrCat(label_, ": the list stands for more than ", kMostRules,
                         " rules; want fewer exclusions of what earlier entries fit"));
      }
      Add(type, layer).set_skip(true);
      for (int i = first_; i < before; ++i) {
        QuantRule rule = config_.rules(i);
        if (rule.op_type() != type) continue;
        if (!rule.has_layer()) {
          rule.set_layer(layer);
        } else if (IsGlob(layer) && IsGlob(rule.layer())) {
          return absl::UnimplementedError(
              absl::StrCat(label_, ": exclude_op_names_re beside op_names_re of ", rule.name(),
                           "; want layers by name in one of them"));
        } else if (GlobMatches(rule.layer(), layer)) {
          rule.set_layer(layer);
        } else if (!GlobMatches(layer, rule.layer())) {
          continue;
        }
        *config_.add_rules() = std::move(rule);
      }
    }
    return absl::OkStatus();
  }

  QuantConfig& config_;
  std::string label_;
  int first_ = 0;  // of the rules that entries say
};

// All entries that quantize have one step at which that begins.
absl::Status SetSchedule(const DocumentReader& reader, const Node& list,
                         const std::vector<NniEntry>& entries, QuantConfig* config) {
  std::optional<int64_t> common;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].excludes) continue;
    const int64_t step = entries[i].start_step.value_or(0);
    if (common && *common != step) {
      return absl::UnimplementedError(
          reader
              .At(list.items[i], absl::StrCat("quant_start_step: ", step, " here, and ", *common,
                                              " in an earlier entry; want one for all"))
              .message());
    }
    common = step;
  }
  if (common && *common > 0) config->mutable_schedule()->set_quantize_from_step(*common);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<QuantConfig> NniConfig(const DocumentReader& reader, const Node& list) {
  const bool has_schemes = std::any_of(list.items.begin(), list.items.end(), HasScheme);
  std::vector<NniEntry> entries;
  for (const Node& item : list.items) {
    ASSIGN_OR_RETURN(NniEntry entry, ReadNniEntry(reader, item, has_schemes));
    entries.push_back(std::move(entry));
  }
  QuantConfig config;
  RETURN_IF_ERROR(SetSchedule(reader, list, entries, &config));
  const auto label = [](size_t i) { return absl::StrCat("entry ", i + 1); };
  RuleWriter writer(&config);
  for (size_t i = 0; i < entries.size(); ++i) writer.WriteNames(label(i), entries[i]);
  writer.WriteOthers();
  for (size_t i = 0; i < entries.size(); ++i) {
    const absl::Status status = writer.Write(label(i), entries[i]);
    if (!status.ok()) {
      return absl::Status(status.code(), reader.At(list.items[i], status.message()).message());
    }
  }
  return config;
}

}  // namespace fixpoint
