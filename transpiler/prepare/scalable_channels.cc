#include "transpiler/prepare/scalable_channels.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "ops/activation.h"
#include "ops/codes/bias_sum.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/declared_facts.h"
#include "ops/dims.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "ops/window.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

// Whether f(s x) = s f(x) for s > 0.
bool ScalesWithArgument(ActivationFunction function) {
  switch (function) {
    case ActivationFunction::kRelu:
    case ActivationFunction::kReluKeepingNan:
    case ActivationFunction::kLeakyRelu:
    case ActivationFunction::kAbs:
      return true;
    default:
      return false;
  }
}

bool ScaleWithArgument(const Epilogue& stages) {
  return std::all_of(stages.begin(), stages.end(), [](const EpilogueStage& stage) {
    return stage.kind == EpilogueStage::Kind::kRelu ||
           stage.kind == EpilogueStage::Kind::kLeakyRelu;
  });
}

int64_t ElementsFrom(const std::vector<int64_t>& dims, size_t axis) {
  int64_t count = 1;
  for (size_t i = axis; i < dims.size(); ++i) count *= dims[i];
  return count;
}

class Finder {
 public:
  Finder(const Program& program, const FindParameter& find)
      : era_(EraOf(program)), facts_(era_), program_(program), find_(find) {}

  std::vector<ScalableChannels> FindAll() const {
    std::vector<ScalableChannels> all;
    for (const Op& op : program_.block(0).ops()) {
      std::optional<ScalableChannels> found = BegunBy(op);
      if (!found) continue;
      PassFunctions(&*found);
      if (AddReaders(&*found)) all.push_back(*std::move(found));
    }
    return all;
  }

 private:
  std::optional<ScalableChannels> BegunBy(const Op& op) const {
    const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era_);
    if (!attributes) return std::nullopt;
    if (TraitsOf(op).product) return OfProduct(op, *TraitsOf(op).product, *attributes);
    if (op.type() == "layer_norm") return OfLayerNorm(op, *attributes);
    return std::nullopt;
  }

  // A parameter of FP32 that nothing but this op reads.
  const Tensor* OwnParameter(const Argument* read) const {
    const Tensor* const tensor = find_(read);
    const bool is_own = tensor != nullptr && tensor->dtype() == VarType::FP32 &&
                        read->variable()->arguments().size() == 1;
    return is_own ? tensor : nullptr;
  }

  std::optional<ScalableChannels> OfLayerNorm(const Op& op, const OpAttributes& attributes) const {
    const Argument* const output = op.Output("Y");
    const Dims dims = output == nullptr ? Dims() : DeclaredDims(*output);
    const auto rank = static_cast<int>(dims.size());
    if (rank < 2 || attributes.Int("begin_norm_axis") != rank - 1) return std::nullopt;
    ScalableChannels found;
    found.value = output->value();
    found.channel_axis = rank - 1;
    for (const char* slot : {"Scale", "Bias"}) {
      const Tensor* const tensor = OwnParameter(op.Input(slot));
      if (tensor == nullptr) return std::nullopt;
      found.channels = tensor->size();
      found.divided.push_back({op.Input(slot)});
    }
    return found;
  }

  std::optional<ScalableChannels> OfProduct(const Op& op, const ProductTrait& trait,
                                            const OpAttributes& attributes) const {
    const absl::StatusOr<OwnWork> own = OwnWorkOf(op, attributes);
    if (!own.ok() || own->residual != nullptr || own->function.has_value() ||
        !ScaleWithArgument(own->stages)) {
      return std::nullopt;
    }
    const Argument* const weight = op.Input(trait.weight);
    const Argument* const output = op.Output(trait.output);
    const Tensor* const weights = OwnParameter(weight);
    if (weights == nullptr || output == nullptr || output->value() == nullptr) return std::nullopt;
    const Dims dims = DeclaredDims(*output);
    const std::optional<int> axis =
        trait.WeightAxis(attributes, /*is_weight=*/true, static_cast<int>(weights->dims().size()));
    if (dims.size() < 2 || !axis) return std::nullopt;
    ScalableChannels found;
    found.is_of_product = true;
    found.value = output->value();
    found.channel_axis = trait.ChannelAxis(attributes, static_cast<int>(dims.size()));
    found.channels = weights->dims()[*axis];
    // An entry of a transposed convolution in groups serves several channels.
    if (dims[found.channel_axis] != found.channels) return std::nullopt;
    found.divided.push_back({weight, ElementsFrom(weights->dims(), *axis + 1)});
    if (own->bias != nullptr) {
      const Tensor* const bias = OwnParameter(own->bias);
      if (bias == nullptr || bias->size() != found.channels) return std::nullopt;
      found.divided.push_back({own->bias});
    } else if (own->stages.empty()) {
      PassBias(dims, &found);
    }
    return found;
  }

  // Goes on to the sum with a bias that is a parameter.
  void PassBias(const Dims& dims, ScalableChannels* found) const {
    const std::optional<BiasSum> sum =
        FindBiasSum(*found->value, dims, found->channel_axis, facts_);
    const Tensor* const bias = sum ? OwnParameter(sum->bias) : nullptr;
    if (bias == nullptr || bias->size() != found->channels) return;
    found->divided.push_back({sum->bias});
    found->value = sum->output->value();
  }

  // Goes on as long as the only reader scales with its argument.
  void PassFunctions(ScalableChannels* found) const {
    for (;;) {
      const Op* const reader = facts_.OnlyReader(*found->value);
      const Argument* const x = reader != nullptr ? reader->Input("X") : nullptr;
      const Argument* const output = reader != nullptr ? reader->Output("Out") : nullptr;
      if (x == nullptr || x->value() != found->value || output == nullptr ||
          output->value() == nullptr || !ScalesWithArgument(*reader, found->channel_axis)) {
        return;
      }
      found->value = output->value();
    }
  }

  bool ScalesWithArgument(const Op& op, int channel_axis) const {
    const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era_);
    if (!attributes) return false;
    const auto& activation = TraitsOf(op).activation;
    if (activation != nullptr)
      return fixpoint::ScalesWithArgument(activation(*attributes).function);
    if (op.type() == "prelu") return true;
    if (op.type() != "pool2d") return false;
    return channel_axis == (IsChannelsLast(attributes->String("data_format")) ? 3 : 1);
  }

  // False if anything but a product reads the value.
  bool AddReaders(ScalableChannels* found) const {
    const Value& value = *found->value;
    if (value.variable().persistable() || value.variable().values().size() != 1 ||
        value.readers().empty()) {
      return false;
    }
    for (const Argument* reader : value.readers()) {
      const std::optional<ChannelParameter> weight = WeightOf(*reader, *found);
      if (!weight) return false;
      found->multiplied.push_back(*weight);
    }
    return true;
  }

  // The weight of a product that reads a value, by the value's channels.
  std::optional<ChannelParameter> WeightOf(const Argument& reader,
                                           const ScalableChannels& found) const {
    const Op& op = reader.op();
    const std::optional<ProductTrait>& trait = TraitsOf(op).product;
    const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era_);
    if (!trait || !attributes || &op.block() != &program_.block(0) ||
        reader.slot_name() != trait->activation) {
      return std::nullopt;
    }
    const Argument* const weight = op.Input(trait->weight);
    const Tensor* const weights = OwnParameter(weight);
    const auto rank = static_cast<int>(DeclaredDims(reader).size());
    if (weights == nullptr || rank < 2) return std::nullopt;
    const std::optional<int64_t> inner = InnerOf(*trait, *attributes, weights->dims(), rank, found);
    if (!inner) return std::nullopt;
    return ChannelParameter{weight, *inner};
  }

  // How many elements of a weight lie together for a channel of what is read; nothing where they
  // are not found by the channel.
  static std::optional<int64_t> InnerOf(const ProductTrait& trait, const OpAttributes& attributes,
                                        const std::vector<int64_t>& dims, int rank,
                                        const ScalableChannels& found) {
    using Form = ProductTrait::Form;
    if (dims.size() < 2) return std::nullopt;
    if (trait.gives_images() && trait.ChannelAxis(attributes, rank) != found.channel_axis) {
      return std::nullopt;
    }
    int axis = 0;
    switch (trait.form) {
      case Form::kConvolution: {
        const int64_t groups = attributes.Int("groups");
        const bool is_depthwise = groups == found.channels && dims[0] == groups && dims[1] == 1;
        if (groups != 1 && !is_depthwise) return std::nullopt;
        axis = is_depthwise ? 0 : 1;
        break;
      }
      case Form::kTransposedConvolution:
        break;
      case Form::kMatrices: {
        const auto is_set = [&attributes](const std::string& name) {
          return !name.empty() && attributes.Bool(name);
        };
        if (dims.size() != 2 || found.channel_axis != rank - 1 ||
            is_set(trait.transposes_activation)) {
          return std::nullopt;
        }
        axis = is_set(trait.transposes_weight) ? 1 : 0;
        break;
      }
      case Form::kFlattened:
        return InnerOfFlattened(trait, attributes, dims, rank, found);
    }
    if (dims[axis] != found.channels) return std::nullopt;
    return ElementsFrom(dims, axis + 1);
  }

  static std::optional<int64_t> InnerOfFlattened(const ProductTrait& trait,
                                                 const OpAttributes& attributes,
                                                 const std::vector<int64_t>& dims, int rank,
                                                 const ScalableChannels& found) {
    const auto rows_of = [&attributes](const std::string& name) -> int64_t {
      return name.empty() ? 1 : attributes.Int(name);
    };
    const int64_t first = rows_of(trait.activation_rows);
    const int64_t columns = ElementsFrom(dims, rows_of(trait.weight_rows));
    const int64_t rows = ElementsFrom(dims, 0) / columns;
    // What a row of the activation holds is [channels, ...] or [..., channels].
    if (found.channel_axis == first) {
      if (rows % found.channels != 0) return std::nullopt;
      return rows / found.channels * columns;
    }
    if (found.channel_axis != rank - 1 || rows % found.channels != 0) return std::nullopt;
    return columns;
  }

  const Era era_;
  const DeclaredFacts facts_;
  const Program& program_;
  const FindParameter& find_;
};

}  // namespace

std::vector<ScalableChannels> FindScalableChannels(const Program& program,
                                                   const FindParameter& find) {
  return Finder(program, find).FindAll();
}

std::vector<double>& ScaledParameters::ElementsOf(const Argument* read) {
  std::vector<double>& elements = elements_[read];
  if (elements.empty()) {
    const absl::Span<const float> held = find_(read)->data<float>();
    elements.assign(held.begin(), held.end());
  }
  return elements;
}

std::vector<double> ScaledParameters::LargestOfChannels(const ChannelParameter& parameter,
                                                        int64_t channels) {
  std::vector<double> largest(channels);
  TakeLargest<double>(ElementsOf(parameter.read), parameter.inner, absl::MakeSpan(largest));
  return largest;
}

void ScaledParameters::Scale(const ChannelParameter& parameter, absl::Span<const double> factors) {
  std::vector<double>& elements = ElementsOf(parameter.read);
  const auto channels = static_cast<int64_t>(factors.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] *= factors[static_cast<int64_t>(i) / parameter.inner % channels];
  }
  if (std::find(scaled_.begin(), scaled_.end(), parameter.read) == scaled_.end()) {
    scaled_.push_back(parameter.read);
  }
}

absl::StatusOr<Tensor> ScaledParameters::Result(const Argument* read) const {
  absl::StatusOr<Tensor> tensor = Tensor::Allocate(VarType::FP32, find_(read)->dims());
  if (!tensor.ok()) return tensor.status();
  const std::vector<double>& elements = elements_.at(read);
  std::copy(elements.begin(), elements.end(), tensor->mutable_data<float>().begin());
  return tensor;
}

}  // namespace fixpoint
