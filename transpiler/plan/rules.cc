#include "transpiler/plan/rules.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/recurrent_state.h"
#include "proto/program/program.h"
#include "transpiler/plan/layer_name.h"

namespace fixpoint {

bool GlobMatches(absl::string_view pattern, absl::string_view text) {
  // Greedy with one backtracking point: linear in practice, quadratic at worst.
  size_t p = 0, t = 0;
  size_t star = absl::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool ScopeContains(absl::string_view scope, absl::string_view path) {
  const std::vector<absl::string_view> in = absl::StrSplit(scope, '/', absl::SkipEmpty());
  const std::vector<absl::string_view> wanted = absl::StrSplit(path, '/', absl::SkipEmpty());
  return !wanted.empty() &&
         std::search(in.begin(), in.end(), wanted.begin(), wanted.end()) != in.end();
}

namespace {

// What a rule matches by, without what it does: a tool that writes rules for entries of its own
// chooses that.
std::string KeysText(QuantRule rule) {
  rule.clear_name();
  rule.clear_skip();
  rule.clear_spec();
  rule.clear_state_bits();
  return rule.ShortDebugString();
}

}  // namespace

void MergeSpec(const QuantSpec& from, QuantSpec* into) {
  if (from.has_quantizer() && from.quantizer() != into->quantizer()) {
    into->clear_parameters();
    into->clear_granularity();
    into->clear_axis();
    into->clear_scheme();
  }
  into->MergeFrom(from);
}

Rules::Rules(const QuantConfig& config, bool with_outputs)
    : config_(config),
      with_outputs_(with_outputs),
      match_counts_(config.rules_size(), 0),
      other_slots_(config.rules_size()) {}

std::set<std::string> Rules::QuantizableSlots(const Op& op) const {
  std::set<std::string> slots;
  const OpSchema* schema = FindOpSchema(op.type());
  if (schema == nullptr) return slots;
  for (const QuantizableInput& input : schema->quantizable_inputs()) {
    if (!op.Inputs(input.slot).empty()) slots.insert(input.slot);
  }
  if (!with_outputs_) return slots;
  for (const std::string& output : schema->quantizable_outputs()) {
    if (!op.Outputs(output).empty()) slots.insert(output);
  }
  return slots;
}

Rules::OpMatches Rules::Match(const Op& op) {
  OpMatches matches;
  for (int i = 0; i < config_.rules_size(); ++i) {
    const QuantRule& rule = config_.rules(i);
    if (rule.has_op_type() && rule.op_type() != op.type()) continue;
    if (rule.has_block() && rule.block() != op.block().index()) continue;
    if (rule.has_scope() && !ScopeContains(NameScope(op.desc()), rule.scope())) {
      continue;
    }
    if (rule.has_layer() && !GlobMatches(rule.layer(), LayerOf(op))) continue;
    if (rule.has_slot()) {
      std::set<std::string> slots = QuantizableSlots(op);
      if (slots.count(rule.slot()) == 0) {
        other_slots_[i].merge(slots);
        continue;
      }
    }
    if (rule.has_name_pattern()) {
      const auto matches_name = [&rule](const Argument* argument) {
        return (!rule.has_slot() || argument->slot_name() == rule.slot()) &&
               GlobMatches(rule.name_pattern(), argument->name());
      };
      if (std::none_of(op.inputs().begin(), op.inputs().end(), matches_name) &&
          std::none_of(op.outputs().begin(), op.outputs().end(), matches_name)) {
        continue;
      }
    }
    ++match_counts_[i];
    matches.rules.push_back(i);
  }
  return matches;
}

Rules::SlotAction Rules::Resolve(const OpMatches& matches, absl::string_view slot) const {
  SlotAction action;
  for (const int i : matches.rules) {
    const QuantRule& rule = config_.rules(i);
    if (rule.has_slot() && rule.slot() != slot) continue;
    action.rule = NameOf(i);
    action.skip = rule.skip();
    if (rule.has_spec()) {
      action.asks = true;
      action.asks_for_slot |= rule.has_slot();
      MergeSpec(rule.spec(), &action.spec);
    }
  }
  return action;
}

std::optional<int> Rules::StateBits(const OpMatches& matches) const {
  std::optional<int> bits;
  for (const int i : matches.rules) {
    if (config_.rules(i).has_state_bits()) bits = config_.rules(i).state_bits();
  }
  return bits;
}

std::string Rules::AskingRule(const OpMatches& matches) const {
  std::string asking;
  for (const int i : matches.rules) {
    const QuantRule& rule = config_.rules(i);
    if (rule.has_spec()) {
      asking = NameOf(i);
    } else if (!rule.has_slot()) {
      asking.clear();
    }
  }
  return asking;
}

const std::string& Rules::LayerOf(const Op& op) {
  const auto [found, is_new] = layers_.try_emplace(&op);
  if (is_new) found->second = LayerName(op, parameters_);
  return found->second;
}

std::string Rules::NameOf(int rule) const {
  const std::string& name = config_.rules(rule).name();
  return name.empty() ? absl::StrCat("rule ", rule + 1) : name;
}

absl::Status Rules::CheckForm() const {
  std::vector<std::string> wrong;
  for (int i = 0; i < config_.rules_size(); ++i) {
    const QuantRule& rule = config_.rules(i);
    if (!rule.has_op_type() && !rule.has_name_pattern() && !rule.has_scope() && !rule.has_block() &&
        !rule.has_slot() && !rule.has_layer()) {
      wrong.push_back(absl::StrCat(
          NameOf(i),
          " has no key; want an op_type, a name_pattern, a layer, a scope, a block or a slot"));
    }
    if (rule.skip() == (rule.has_spec() || rule.has_state_bits())) {
      wrong.push_back(absl::StrCat(NameOf(i), " has ", rule.skip() ? "two actions" : "no action",
                                   "; want either skip: true or a spec"));
    }
    if (rule.has_state_bits()) {
      const absl::Status bits = CheckStateBits(rule.state_bits());
      if (!bits.ok()) {
        wrong.push_back(absl::StrCat(NameOf(i), ": ", std::string(bits.message())));
      }
    }
  }
  if (wrong.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(wrong, "\n"));
}

std::string Rules::LayersText() const {
  constexpr size_t kMostNames = 20;
  std::set<std::string> names;
  for (const auto& [op, layer] : layers_) {
    if (!layer.empty()) names.insert(layer);
  }
  if (names.empty()) return "";
  const bool is_all = names.size() <= kMostNames;
  if (!is_all) names.erase(std::next(names.begin(), kMostNames), names.end());
  return absl::StrCat(" (the layers are ", absl::StrJoin(names, ", "), is_all ? ")" : ", ...)");
}

absl::Status Rules::CheckAllMatched() const {
  std::vector<std::string> unmatched;
  bool names_layer = false;
  for (int i = 0; i < config_.rules_size(); ++i) {
    if (match_counts_[i] > 0 || config_.rules(i).optional()) continue;
    unmatched.push_back(absl::StrCat(NameOf(i), " { ", KeysText(config_.rules(i)), " }"));
    names_layer |= !config_.rules(i).layer().empty();
    if (other_slots_[i].empty()) continue;
    absl::StrAppend(&unmatched.back(), " (ops that it matches but for the slot have ",
                    absl::StrJoin(other_slots_[i], ", "), ")");
  }
  if (unmatched.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "no quantizable op matches ", absl::StrJoin(unmatched, ", "), names_layer ? LayersText() : "",
      "; correct it, or set `optional: true` (in a textproto) where that is meant"));
}

}  // namespace fixpoint
