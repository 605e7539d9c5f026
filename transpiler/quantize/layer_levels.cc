#include "transpiler/quantize/layer_levels.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

constexpr int kFullBits = 8;

// What a rule's keys name: a block, an op type and an argument of it.
using Key = std::tuple<int, std::string, std::string>;

// The keys by which a rule can match an op: by parameters first, since two ops seldom share one,
// then by outputs, then by other inputs.
std::vector<Key> KeysOf(const Op& op) {
  std::vector<Key> parameters;
  std::vector<Key> outputs;
  std::vector<Key> inputs;
  const auto add = [&op](const Argument& argument, std::vector<Key>* keys) {
    std::string name(argument.name());
    if (name.empty() || name.find_first_of("*?") != std::string::npos) return;
    keys->emplace_back(op.block().index(), op.type(), std::move(name));
  };
  for (const Argument* input : op.inputs()) {
    const bool is_parameter = input->value() != nullptr && input->value()->variable().persistable();
    add(*input, is_parameter ? &parameters : &inputs);
  }
  for (const Argument* output : op.outputs()) add(*output, &outputs);
  parameters.insert(parameters.end(), outputs.begin(), outputs.end());
  parameters.insert(parameters.end(), inputs.begin(), inputs.end());
  return parameters;
}

QuantRule RuleOf(const Key& key, bool with_block) {
  const auto& [block, op_type, name] = key;
  QuantRule rule;
  rule.set_op_type(op_type);
  rule.set_name_pattern(name);
  if (with_block) rule.set_block(block);
  return rule;
}

}  // namespace

LayerLevels LayerLevels::Of(const Program& program, const QuantPlan& plan) {
  std::map<Key, std::vector<const Op*>> by_key;
  std::vector<std::vector<const Op*>> by_place(program.block_count());
  for (const Op& op : program.ops()) {
    by_place[op.block().index()].push_back(&op);
    for (Key& key : KeysOf(op)) {
      std::vector<const Op*>& ops = by_key[std::move(key)];
      if (ops.empty() || ops.back() != &op) ops.push_back(&op);
    }
  }
  LayerLevels result;
  std::map<const Op*, size_t> layer_of;
  for (const QuantPlan::Decision& decision : plan.decisions()) {
    if (!decision.quantized()) continue;
    const Op& op = *by_place[decision.block()][decision.op()];
    const std::vector<Key> keys = KeysOf(op);
    const auto key = std::min_element(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
      return by_key[a].size() < by_key[b].size();
    });
    if (key == keys.end()) continue;
    // What an earlier op's rules match too belongs to its layer, and so do the ops of its own rule.
    size_t layer = result.layers_.size();
    for (const Op* other : by_key[*key]) {
      if (const auto found = layer_of.find(other); found != layer_of.end()) {
        layer = std::min(layer, found->second);
      }
    }
    for (const Op* other : by_key[*key]) layer_of[other] = layer;
    if (layer == result.layers_.size()) result.layers_.push_back({decision.output(), {}});
    result.layers_[layer].rules.push_back(RuleOf(*key, program.block_count() > 1));
  }
  result.has_fewer_bits_ =
      std::any_of(plan.sites().begin(), plan.sites().end(), [](const QuantPlan::Site& site) {
        return site.role() != SlotRole::BIAS && site.spec().bits() < kFullBits;
      });
  return result;
}

std::string LayerLevels::NameOf(int level) const {
  return level == levels() - 1 ? "float" : absl::StrCat(kFullBits, " bits");
}

QuantConfig LayerLevels::Apply(const QuantConfig& config, const Levels& levels) const {
  QuantConfig result = config;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (levels[i] == 0) continue;
    for (const QuantRule& keys : layers_[i].rules) {
      QuantRule& rule = *result.add_rules() = keys;
      if (levels[i] == this->levels() - 1) {
        rule.set_skip(true);
      } else {
        rule.mutable_spec()->set_bits(kFullBits);
      }
    }
  }
  return result;
}

}  // namespace fixpoint
