#include "transpiler/plan/integer_bias.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/code_range.h"
#include "ops/codes/coded_product.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/folded_ops.h"
#include "ops/codes/held_codes.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "ops/power_of_two_range.h"
#include "ops/quantizers/power_of_two_steps.h"
#include "proto/program/program.h"

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

OperandOrReason OperandOfSite(const Argument& operand, const SiteFacts& facts,
                              const QuantizerTable& quantizers) {
  const Site* const site = facts.FindSite(&operand);
  if (site == nullptr) return IntegerReason::kNotQuantized;
  const Quantizer* const quantizer = quantizers.Find(site->spec.quantizer());
  if (quantizer == nullptr) return IntegerReason::kNotQuantized;
  const QuantSpec spec = StoredSpec(*quantizer, site->spec);
  const bool is_affine = spec.scheme() == QuantSpec::AFFINE;
  const bool is_never_negative =
      site->role == SlotRole::ACTIVATION && facts.QuantizesNoNegatives(*site, *quantizer);
  const std::optional<CodeRange> held = CodesHeldOf(spec, is_never_negative);
  CodedOperand read = {{}, DeclaredDims(operand)};
  read.codes.is_wide = !held;
  if (!held && !WideCodesOf(spec, is_never_negative)) return IntegerReason::kTooManyBits;
  read.codes.is_unsigned = held && held->is_unsigned;
  const bool has_channels = spec.granularity() == QuantSpec::PER_CHANNEL;
  if (has_channels) read.codes.channel_axis = spec.axis();
  read.codes.has_zero_point = is_affine && !has_channels;
  read.codes.has_channel_zero_points = is_affine && has_channels;
  return read;
}

std::optional<int> BiasBitsOf(const Target& target) {
  switch (target.bias()) {
    case Target::FLOAT:
      return std::nullopt;
    case Target::INT32:
      return 32;
    case Target::INT16:
      return 16;
  }
  return std::nullopt;
}

QuantSpec IntegerBiasSpec(int bits) {
  QuantSpec spec;
  spec.set_bits(bits);
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

const Argument* FindBias(const Op& op, Eligibility* eligibility) {
  const OpTraits& traits = TraitsOf(op);
  const Argument* const bias = traits.sum       ? op.Input(traits.sum->y)
                               : traits.product ? op.Input(traits.product->bias)
                                                : nullptr;
  if (bias == nullptr || bias->value() == nullptr || !eligibility->IsWeight(*bias->value())) {
    return nullptr;
  }
  const VarType::TensorDesc* const tensor = TensorOf(*bias);
  return tensor != nullptr && tensor->dims_size() == 1 ? bias : nullptr;
}

ProductSites SitesOfProduct(const Op& product, const SiteFacts& facts) {
  const ProductTrait& trait = *TraitsOf(product).product;
  const Argument* const left = product.Input(trait.activation);
  const Site* const of_left = facts.FindSite(left);
  const Site* const of_right = facts.FindSite(product.Input(trait.weight));
  ProductSites sites;
  if (of_right != nullptr && of_right->role == SlotRole::WEIGHT) sites.weight = of_right;
  if (of_left != nullptr && of_left->role == SlotRole::ACTIVATION) sites.activation = of_left;
  if (of_left != nullptr && of_left->role == SlotRole::WEIGHT) sites.weight_on_the_left = left;
  return sites;
}

ProductOrReason DecideProductOfSites(const Op& product, const OpAttributes& attributes,
                                     const SiteFacts& facts, const QuantizerTable& quantizers) {
  return DecideProduct(product, attributes, [&](const Argument& operand) {
    return OperandOfSite(operand, facts, quantizers);
  });
}

const Site* SiteOfAddedSums(const Argument& bias, const SiteFacts& facts) {
  const std::optional<SumTrait>& sum = TraitsOf(bias.op()).sum;
  return sum ? facts.FindSite(bias.op().Input(sum->x)) : nullptr;
}

std::optional<std::string> IntegerBias::WhyNotSums(const Op& product, const Argument& bias,
                                                   const Argument& sums,
                                                   const ProductSites& operands) const {
  const Quantizer* const quantizer = quantizers_.Find(operands.activation->spec.quantizer());
  if (quantizer == nullptr || quantizer->is_dynamic()) {
    return absl::StrCat("the range of ", operands.activation->value->variable().name(),
                        " is found anew at every run");
  }
  const std::optional<OpAttributes> attributes = OpAttributes::Of(product.desc(), facts_.era());
  if (!attributes) return "the attributes of the product cannot be read";
  const ProductOrReason decision = DecideProductOfSites(product, *attributes, facts_, quantizers_);
  if (const auto* const reason = std::get_if<IntegerReason>(&decision)) return StaysFloat(*reason);
  const auto& decided = std::get<CodedProduct>(decision);
  // The steps of the bias are compared with those of an op on integers.
  if (decided.why_not_lowered) return StaysFloat(*decided.why_not_lowered);
  const bool is_own = &product == &bias.op();
  if (!is_own && !decided.gives_sums) {
    return decided.own.any()
               ? absl::StrCat(Said(sums), ", to which the product has added a bias or done more")
               : "the product has a factor";
  }
  if (decided.is_wide()) {
    return "the sums are of codes of more than 8 bits, to which floats are added";
  }
  if (decided.KindOfBias(BiasForm::kCodesOfSums) != BiasKind::kToSums) {
    return decided.sums.products == 0 ? "the shape of the weight is not known"
                                      : "32 bits may not hold the sums with the bias";
  }
  const Dims dims = DeclaredDims(*product.outputs().front());
  const int axis =
      TraitsOf(product).product->ChannelAxis(*attributes, static_cast<int>(dims.size()));
  bool is_of_channels = !dims.empty() && IsOfChannels(DeclaredDims(bias), axis, dims, axis);
  if (!is_own) {
    const FoldOrReason fold = DecideFold(bias.op(), {sums.value(), dims, axis, decided}, facts_);
    const auto* const folded = std::get_if<FoldedOp>(&fold);
    is_of_channels = folded != nullptr && folded->operand == FoldedOp::Operand::kBias;
  }
  if (is_of_channels) return std::nullopt;
  return absl::StrCat(Said(bias), ", which is not one for each channel");
}

std::optional<std::string> IntegerBias::WhyNotCodes(const Argument& bias, const Argument& sums,
                                                    const Site& of_sums) const {
  const std::string place =
      absl::StrCat(Said(sums), ", which is quantized before the bias is added");
  const Quantizer* const quantizer = quantizers_.Find(of_sums.spec.quantizer());
  if (quantizer == nullptr || quantizer->is_dynamic()) {
    return absl::StrCat(place, ", to a range that is found anew at every run");
  }
  const QuantSpec spec = StoredSpec(*quantizer, of_sums.spec);
  // FP32 then holds the sum of codes in their step, so that floats simulate integers.
  if (spec.scheme() != QuantSpec::SYMMETRIC || spec.granularity() != QuantSpec::PER_TENSOR ||
      !HasPowerOfTwoSteps(*quantizer, spec)) {
    return absl::StrCat(place, ", and not in one step that is a power of two");
  }
  if (CodesHeldOf(spec, facts_.QuantizesNoNegatives(of_sums, *quantizer))) {
    return absl::StrCat(place, ", to codes of 8 bits or fewer");
  }
  if (CodeRangeOf(spec).largest > kLargestCodeOfExactFloats) {
    return absl::StrCat(place, ", to more codes than floats simulate exactly, up to ",
                        CodeRangeOf(spec).largest, "; want up to ", kLargestCodeOfExactFloats);
  }
  const Op& product = *sums.value()->op();
  const Dims dims = DeclaredDims(sums);
  const auto of_product = OpAttributes::Of(product.desc(), facts_.era());
  const auto of_sum = OpAttributes::Of(bias.op().desc(), facts_.era());
  if (!of_product || !of_sum || dims.empty()) {
    return "the attributes or the shape of the sums cannot be read";
  }
  const int axis =
      TraitsOf(product).product->ChannelAxis(*of_product, static_cast<int>(dims.size()));
  if (IsOfChannels(DeclaredDims(bias), of_sum->Int(TraitsOf(bias.op()).sum->axis), dims, axis)) {
    return std::nullopt;
  }
  return absl::StrCat(Said(bias), ", which is not one for each channel");
}

std::optional<std::string> IntegerBias::WhyFloat(const Argument& bias) const {
  const Op* const product = ProductOfBias(bias);
  const bool is_own = product == &bias.op();
  const std::optional<SumTrait>& sum = TraitsOf(bias.op()).sum;
  if (!is_own && !sum) {
    return absl::StrCat(Said(bias), ", which is neither the bias of a product nor an addend");
  }
  const Argument* const sums = is_own ? &bias : bias.op().Input(sum->x);
  if (sums == nullptr) return "X is missing";
  const std::string place = Said(*sums);
  const ProductSites operands =
      product != nullptr ? SitesOfProduct(*product, facts_) : ProductSites();
  if (operands.weight_on_the_left != nullptr) {
    return absl::StrCat("the weight is ", operands.weight_on_the_left->slot_name(),
                        ", whose channels are rows");
  }
  if (!operands.are_both() || product->outputs().size() != 1) {
    return is_own ? "the product is not computed on integers"
                  : absl::StrCat(place, ", which no product on integers writes");
  }
  if (!is_own && facts_.OnlyReader(*sums->value()) != &bias.op()) {
    return absl::StrCat(place, ", which another op reads too");
  }
  if (!is_own && sums->variable()->values().size() != 1) {
    return absl::StrCat(place, ", which is written again");
  }
  for (const Block* block :
       {&product->block(), &bias.op().block(), &bias.variable()->block(),
        &operands.activation->value->block(), &operands.weight->value->block()}) {
    if (block->index() != 0) return absl::StrCat(place, ", in a block that an op runs");
  }
  if (bias.value()->origin() != Value::Origin::kEntry) {
    return absl::StrCat(Said(bias), ", which the program computes");
  }
  if (const VarType::TensorDesc* const tensor = TensorOf(bias);
      tensor == nullptr || tensor->data_type() != VarType::FP32) {
    return absl::StrCat(Said(bias), ", which is not FP32");
  } else if (tensor->dims_size() != 1) {
    return absl::StrCat(Said(bias), ", which has ", tensor->dims_size(), " dimensions");
  }
  const Site* const of_sums = SiteOfAddedSums(bias, facts_);
  return of_sums != nullptr ? WhyNotCodes(bias, *sums, *of_sums)
                            : WhyNotSums(*product, bias, *sums, operands);
}

}  // namespace fixpoint
