#include "transpiler/exchange/program_layers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "transpiler/exchange/before_quantizers.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/plan/layer_name.h"
#include "transpiler/plan/quantizing_pass.h"

namespace fixpoint {
namespace {

// Forward ops on values: neither of the backward pass, nor of what quantizes.
bool IsPartOfALayer(const Op& op) {
  if ((op.role() & (kBackward | kOptimize)) != 0) return false;
  if (op.has_own_attrs() && StringAttr(op.desc(), kInsertedByAttr) == kQuantizingPass) return false;
  const OpSchema* const schema = FindOpSchema(op.type());
  return schema != nullptr && schema->quant_op() == QuantOp::kNone;
}

bool IsBias(const Op& op, absl::string_view slot) {
  const OpSchema* const schema = FindOpSchema(op.type());
  const std::optional<ProductTrait>& product = schema->traits().product;
  return product && !product->bias.empty() && product->bias == slot;
}

const Value* OutputOf(const Op& op) {
  for (const Argument* output : op.outputs()) {
    if (output->value() != nullptr) return output->value();
  }
  return nullptr;
}

ProgramLayer LayerOf(const Op& op, std::string name, BeforeQuantizers& before) {
  ProgramLayer layer;
  layer.name = std::move(name);
  for (const Argument* input : op.inputs()) {
    if (input->value() == nullptr) continue;
    const Value& original = before.OriginalOf(*input->value());
    const bool is_weight = before.parameters().IsWeight(original);
    if (is_weight && IsBias(op, input->slot_name())) continue;
    (is_weight ? layer.weights : layer.inputs).push_back(&original);
  }
  layer.output = OutputOf(op);
  return layer;
}

bool Reads(const Op& op, const Value* value, BeforeQuantizers& before) {
  return std::any_of(op.inputs().begin(), op.inputs().end(), [&](const Argument* input) {
    return input->value() != nullptr && &before.OriginalOf(*input->value()) == value;
  });
}

}  // namespace

ProgramLayers::ProgramLayers(const Program& program) {
  BeforeQuantizers before(program);
  const auto original = [&before](const Value& value) -> const Value& {
    return before.OriginalOf(value);
  };
  for (const Op& op : program.ops()) {
    if (!IsPartOfALayer(op)) continue;
    std::string name = LayerName(op, before.parameters(), original);
    if (name.empty()) continue;
    const auto [found, is_new] = by_name_.try_emplace(name, layers_.size());
    if (is_new) {
      layers_.push_back(LayerOf(op, std::move(name), before));
      continue;
    }
    ProgramLayer& layer = layers_[found->second];
    if (layer.output != nullptr && Reads(op, layer.output, before)) {
      layer.output = OutputOf(op);
    } else {
      layer.is_ambiguous = true;
    }
  }
}

const ProgramLayer* ProgramLayers::Find(absl::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &layers_[found->second];
}

std::vector<std::string> ProgramLayers::names() const {
  std::vector<std::string> names;
  for (const ProgramLayer& layer : layers_) names.push_back(layer.name);
  return names;
}

}  // namespace fixpoint
