#include "transpiler/weights/weight_layers.h"

#include <optional>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "ops/codes/bias_sum.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/declared_facts.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

class Finder {
 public:
  Finder(const NetworkPair& networks, const QuantizerTable& quantizers)
      : networks_(networks), quantizers_(quantizers), facts_(EraOf(networks.network)) {}

  absl::StatusOr<std::vector<WeightLayer>> FindAll() {
    RETURN_IF_ERROR(IndexSimulated());
    std::vector<WeightLayer> layers;
    for (const Op& op : networks_.network.block(0).ops()) {
      std::optional<WeightLayer> layer = LayerOf(op);
      if (layer) layers.push_back(*std::move(layer));
    }
    return layers;
  }

 private:
  absl::Status IndexSimulated() {
    for (const Op& op : networks_.simulated.block(0).ops()) {
      const std::optional<ProductTrait>& trait = TraitsOf(op).product;
      const Argument* const output = trait ? op.Output(trait->output) : nullptr;
      if (output != nullptr) products_.emplace(output->name(), &op);
    }
    ASSIGN_OR_RETURN(std::vector<QuantizationSite> sites,
                     FindQuantizationSites(networks_.simulated, quantizers_));
    for (QuantizationSite& site : sites) {
      if (site.fused) {
        sites_.emplace(site.result->value(), site);
        continue;
      }
      for (const Op* op : site.dequantize) {
        sites_.emplace(op->outputs().front()->value(), site);
      }
    }
    return absl::OkStatus();
  }

  // Whether an input is a parameter that has a value, and that nothing else reads.
  bool IsOwnParameter(const Argument* input) const {
    if (input == nullptr || input->value() == nullptr || !input->variable()->persistable() ||
        input->value()->origin() != Value::Origin::kEntry ||
        input->variable()->arguments().size() != 1) {
      return false;
    }
    const Scope::Value* const value = networks_.parameters->FindOrNull(input->name());
    const Tensor* const tensor = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
    return tensor != nullptr && tensor->dtype() == VarType::FP32;
  }

  // The site of the simulated product's weight; null where that is not quantized.
  const QuantizationSite* SiteOf(const Op& simulated, const Argument& weight) const {
    const Argument* const read = simulated.Input(TraitsOf(simulated).product->weight);
    const auto site = read == nullptr ? sites_.end() : sites_.find(read->value());
    const bool is_found = site != sites_.end() && site->second.input->name() == weight.name();
    return is_found ? &site->second : nullptr;
  }

  std::optional<WeightLayer> LayerOf(const Op& op) const {
    const std::optional<ProductTrait>& trait = TraitsOf(op).product;
    const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), facts_.era());
    if (!trait || !attributes) return std::nullopt;
    WeightLayer layer;
    layer.product = &op;
    layer.activation = op.Input(trait->activation);
    layer.weight = op.Input(trait->weight);
    layer.sums = op.Output(trait->output);
    layer.result = layer.sums;
    const absl::StatusOr<OwnWork> own = OwnWorkOf(op, *attributes);
    if (!own.ok() || layer.activation == nullptr || layer.result == nullptr ||
        !IsOwnParameter(layer.weight)) {
      return std::nullopt;
    }
    const auto simulated = products_.find(layer.result->name());
    if (simulated == products_.end() || simulated->second->type() != op.type()) {
      return std::nullopt;
    }
    const QuantizationSite* const site = SiteOf(*simulated->second, *layer.weight);
    const Argument* const read = simulated->second->Input(trait->activation);
    if (site == nullptr || read == nullptr) return std::nullopt;
    layer.site = *site;
    layer.simulated_activation = std::string(read->name());
    layer.ops = {&op};
    const Dims dims = DeclaredDims(*layer.result);
    if (dims.size() < 2) return std::nullopt;
    layer.channel_axis = trait->ChannelAxis(*attributes, static_cast<int>(dims.size()));
    if (own->residual != nullptr) return layer;
    if (own->bias != nullptr) {
      const bool ends_there = own->stages.empty() && !own->function.has_value();
      if (ends_there && IsOwnParameter(own->bias)) {
        layer.bias = own->bias;
        layer.biased = layer.result;
      }
    } else if (!own->any()) {
      AddBias(dims, &layer);
    }
    AddFunction(&layer);
    return layer;
  }

  void AddBias(const Dims& dims, WeightLayer* layer) const {
    const std::optional<BiasSum> sum =
        FindBiasSum(*layer->result->value(), dims, layer->channel_axis, facts_);
    if (!sum || !IsOwnParameter(sum->bias)) return;
    layer->ops.push_back(sum->op);
    layer->bias = sum->bias;
    layer->biased = sum->output;
    layer->result = sum->output;
  }

  void AddFunction(WeightLayer* layer) const {
    const Op* const reader = facts_.OnlyReader(*layer->result->value());
    if (reader == nullptr || TraitsOf(*reader).activation == nullptr) return;
    const Argument* const output = reader->Output("Out");
    if (output == nullptr) return;
    layer->ops.push_back(reader);
    layer->result = output;
  }

  const NetworkPair& networks_;
  const QuantizerTable& quantizers_;
  const DeclaredFacts facts_;
  absl::flat_hash_map<std::string, const Op*> products_;       // of the simulated program
  absl::flat_hash_map<const Value*, QuantizationSite> sites_;  // by the floats that they give
};

}  // namespace

absl::StatusOr<std::vector<WeightLayer>> FindWeightLayers(const NetworkPair& networks,
                                                          const QuantizerTable& quantizers) {
  return Finder(networks, quantizers).FindAll();
}

}  // namespace fixpoint
