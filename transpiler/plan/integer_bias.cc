#include "transpiler/plan/integer_bias.h"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/code_range.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/held_codes.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"

namespace fixpoint {
namespace {

const VarType::TensorDesc* TensorOf(const Argument& argument) {
  return argument.variable() != nullptr ? argument.variable()->tensor() : nullptr;
}

std::string Said(const Argument& argument) {
  return absl::StrCat(std::string(argument.slot_name()), " is ", argument.name());
}

// Why a product that is not computed on integers has no sums to add to.
std::string StaysFloat(IntegerReason reason) {
  return absl::StrCat("the product stays ", IntegerReasonMeaning(reason));
}

}  // namespace

QuantSpec IntegerBiasSpec() {
  QuantSpec spec;
  spec.set_bits(32);
  return spec;
}

const Op* ProductOfBias(const Argument& bias) {
  const OpTraits& traits = TraitsOf(bias.op());
  if (traits.product && bias.slot_name() == traits.product->bias) return &bias.op();
  if (!traits.sum || bias.slot_name() != traits.sum->y) return nullptr;
  const Argument* const x = bias.op().Input(traits.sum->x);
  if (x == nullptr || x->value() == nullptr || x->value()->origin() != Value::Origin::kWrite) {
    return nullptr;
  }
  return TraitsOf(*x->value()->op()).product ? x->value()->op() : nullptr;
}

OperandSites::OperandSites(const Plan& plan) {
  for (const Site& site : plan.sites) {
    if (site.observe) continue;
    for (const Argument* reader : site.readers) sites_.emplace(reader, &site);
  }
}

OperandSites::Operands OperandSites::Of(const Op& product) const {
  Operands operands;
  for (const Argument* input : product.inputs()) {
    const auto site = sites_.find(input);
    if (site == sites_.end()) continue;
    if (site->second->role == SlotRole::WEIGHT) {
      operands.weight = site->second;
      operands.weight_argument = input;
    } else if (site->second->role == SlotRole::ACTIVATION) {
      operands.activation = site->second;
    }
  }
  return operands;
}

const Argument* IntegerBias::Find(const Op& op) {
  const OpTraits& traits = TraitsOf(op);
  const Argument* const bias = traits.sum       ? op.Input(traits.sum->y)
                               : traits.product ? op.Input(traits.product->bias)
                                                : nullptr;
  if (bias == nullptr || bias->value() == nullptr || !eligibility_.IsWeight(*bias->value())) {
    return nullptr;
  }
  const VarType::TensorDesc* const tensor = TensorOf(*bias);
  return tensor != nullptr && tensor->dims_size() == 1 ? bias : nullptr;
}

// Whether it has an element for each of the channels that it is added to.
bool IntegerBias::IsOfChannels(const Argument& bias) const {
  const Op& op = bias.op();
  const Op& product = *ProductOfBias(bias);
  const int64_t size = TensorOf(bias)->dims(0);
  const VarType::TensorDesc* const out = TensorOf(*product.outputs().front());
  if (out == nullptr || out->dims_size() < 2) return false;
  const int rank = out->dims_size();
  const std::optional<OpAttributes> of_product = OpAttributes::Of(product.desc(), era_);
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era_);
  if (!of_product || !attributes) return false;
  const int channel_axis = TraitsOf(product).product->ChannelAxis(*of_product, rank);
  const bool is_own = &op == &product;
  const int64_t axis = is_own ? channel_axis : attributes->Int(TraitsOf(op).sum->axis);
  return (axis < 0 ? rank - 1 : axis) == channel_axis && out->dims(channel_axis) == size;
}

bool IntegerBias::IsOnlyReader(const Argument& result) {
  const auto readers = result.value()->readers();
  return !result.variable()->persistable() &&
         std::none_of(readers.begin(), readers.end(), [&](const Argument* other) {
           return other != &result && types_.IsForward(other->op());
         });
}

std::optional<OperandCodes> IntegerBias::CodesOf(const Site& site) {
  const QuantSpec& spec = site.spec;
  const bool is_affine = spec.scheme() == QuantSpec::AFFINE;
  const std::optional<CodeRange> held =
      CodesHeldOf(CodeRangeOf(spec), !is_affine && site.role == SlotRole::ACTIVATION &&
                                         never_negative_.Holds(*site.value));
  if (!held) return std::nullopt;
  OperandCodes codes;
  codes.is_unsigned = held->is_unsigned;
  const bool has_channels = spec.granularity() == QuantSpec::PER_CHANNEL;
  if (has_channels) codes.channel_axis = spec.axis();
  codes.has_zero_point = is_affine && !has_channels;
  codes.has_channel_zero_points = is_affine && has_channels;
  return codes;
}

std::optional<std::string> IntegerBias::WhyNotSums(const Op& product,
                                                   const OperandSites::Operands& operands) {
  const auto& [activation, weight, weight_argument] = operands;
  const Quantizer* const quantizer = quantizers_.Find(activation->spec.quantizer());
  if (quantizer == nullptr || quantizer->is_dynamic()) {
    return absl::StrCat("the range of ", activation->value->variable().name(),
                        " is found anew at every run");
  }
  const std::optional<OpAttributes> attributes = OpAttributes::Of(product.desc(), era_);
  if (!attributes) return "the attributes of the product cannot be read";
  const ProductTrait& trait = *TraitsOf(product).product;
  if (weight_argument->slot_name() != trait.weight) {
    return absl::StrCat("the weight is ", weight_argument->slot_name(),
                        ", whose channels are rows");
  }
  if (trait.does_more != nullptr && trait.does_more(product, *attributes)) {
    return StaysFloat(IntegerReason::kFusedWork);
  }
  // The steps of the bias would have to have it too.
  if (!trait.factor.empty() && attributes->Float(trait.factor) != 1) {
    return "the product has a factor";
  }
  const std::optional<OperandCodes> activation_codes = CodesOf(*activation);
  const std::optional<OperandCodes> weight_codes = CodesOf(*weight);
  if (!activation_codes || !weight_codes) return StaysFloat(IntegerReason::kTooManyBits);
  const SumsOrReason sums =
      SumsOfProduct(product, *attributes, DeclaredDims(product, trait.activation),
                    DeclaredDims(*weight_argument));
  if (const auto* const reason = std::get_if<IntegerReason>(&sums)) return StaysFloat(*reason);
  const CodedProduct coded = {std::get<ProductSums>(sums), *activation_codes, *weight_codes};
  if (const auto reason = coded.WhyNotOnIntegers()) return StaysFloat(*reason);
  if (coded.KindOfBias(BiasForm::kCodesOfSums) == BiasKind::kToSums) return std::nullopt;
  return coded.sums.products == 0 ? "the shape of the weight is not known"
                                  : "32 bits may not hold the sums with the bias";
}

// Whether a product that adds up does nothing with its sums, so that an op after it can add to
// them.
bool IntegerBias::GivesSums(const Op& product) const {
  const ProductTrait& trait = *TraitsOf(product).product;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(product.desc(), era_);
  const bool has_bias = !trait.bias.empty() && product.Input(trait.bias) != nullptr;
  return attributes && !has_bias && (trait.stages == nullptr || trait.stages(*attributes).empty());
}

std::optional<std::string> IntegerBias::WhyFloat(const Argument& bias) {
  const Op* const product = ProductOfBias(bias);
  const bool is_own = product == &bias.op();
  const std::optional<SumTrait>& sum = TraitsOf(bias.op()).sum;
  const Argument* const sums = is_own ? &bias : sum ? bias.op().Input(sum->x) : nullptr;
  if (sums == nullptr) return "X is missing";
  const std::string place = Said(*sums);
  if (product == nullptr || !sites_.Of(*product).are_of_product() ||
      product->outputs().size() != 1) {
    return is_own ? "the product is none on integers"
                  : absl::StrCat(place, ", which no product on integers writes");
  }
  if (!is_own && !IsOnlyReader(*sums)) {
    return absl::StrCat(place, ", which another op reads too");
  }
  if (!is_own && !GivesSums(*product)) {
    return absl::StrCat(place, ", to which the product has added a bias or done more");
  }
  const OperandSites::Operands operands = sites_.Of(*product);
  for (const Block* block :
       {&product->block(), &bias.op().block(), &bias.variable()->block(),
        &operands.activation->value->block(), &operands.weight->value->block()}) {
    if (block->index() != 0) return absl::StrCat(place, ", in a block that an op runs");
  }
  if (bias.value()->origin() != Value::Origin::kEntry) {
    return absl::StrCat(Said(bias), ", which the program computes");
  }
  if (TensorOf(bias)->data_type() != VarType::FP32) {
    return absl::StrCat(Said(bias), ", which is not FP32");
  }
  if (std::optional<std::string> why = WhyNotSums(*product, operands)) return why;
  if (!IsOfChannels(bias)) return absl::StrCat(Said(bias), ", which is not one for each channel");
  return std::nullopt;
}

}  // namespace fixpoint
