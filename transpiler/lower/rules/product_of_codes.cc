#include "transpiler/lower/rules/product_of_codes.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/sums_of_codes.h"
#include "proto/op_builder.h"
#include "proto/program.h"
#include "proto/status_macros.h"
#include "transpiler/lower/rules/row_codes.h"
#include "transpiler/lower/rules/row_wise_product.h"

namespace fixpoint {
namespace {

// A sum of so many products of such codes, with an int32 bias or without, with int8.
SumOfProducts SumOf(int64_t products, const ActivationCodes& codes, bool has_bias) {
  return {products, codes.is_unsigned, codes.zero_point.has_value(), has_bias};
}

// The codes on the right, and the scales of the sums.
struct Weights {
  const Argument* codes;
  std::vector<float> scales;
  int64_t products = 0;  // of a sum, of a parameter
};

absl::StatusOr<std::optional<Weights>> FindParameter(const Argument& input,
                                                     const ProductOfCodes& product,
                                                     const ActivationCodes& activation,
                                                     Lowering& lowering, IntegerReason* reason) {
  ASSIGN_OR_RETURN(const std::optional<ParameterCodes> parameter,
                   lowering.FindParameterCodes(input, reason));
  if (!parameter) return std::nullopt;
  *reason = IntegerReason::kGranularity;
  if (parameter->channel_axis >= 0 && parameter->channel_axis != product.channel_axis) {
    return std::nullopt;
  }
  *reason = IntegerReason::kAttributes;
  const std::vector<int64_t>& dims = parameter->tensor->dims();
  if (product.channel_axis >= static_cast<int>(dims.size())) return std::nullopt;
  const int64_t entries = dims[product.channel_axis];
  const int64_t channels = entries * product.channel_groups;
  *reason = IntegerReason::kSumsTooLarge;
  if (channels > 0 &&
      !SumsFit(SumOf(parameter->tensor->size() / channels, activation, /*has_bias=*/false))) {
    return std::nullopt;
  }
  Weights weights = {parameter->codes, {}, channels > 0 ? parameter->tensor->size() / channels : 0};
  for (int64_t c = 0; c < channels; ++c) {
    weights.scales.push_back(activation.step() * parameter->step(c % entries) * product.alpha);
  }
  return weights;
}

// How many products the sums of two activations have is known when they run.
std::optional<Weights> FindActivation(const Argument& input, const ProductOfCodes& product,
                                      const ActivationCodes& activation, const Lowering& lowering,
                                      IntegerReason* reason) {
  const std::optional<ActivationCodes> codes = lowering.FindCodes(input);
  if (!codes) return std::nullopt;
  *reason = IntegerReason::kZeroPoint;
  if (codes->zero_point) return std::nullopt;
  *reason = IntegerReason::kUnsignedOperand;
  if (codes->is_unsigned) return std::nullopt;
  return Weights{codes->codes, {activation.step() * codes->step() * product.alpha}};
}

// Whether the sums are in the steps of a bias, and 32 bits hold both.
bool CanAddBias(const ParameterBiasCodes& bias, const Weights& weights,
                const ActivationCodes& activation) {
  return weights.products > 0 && bias.IsOfSums(weights.scales) &&
         SumsFit(SumOf(weights.products, activation, /*has_bias=*/true));
}

}  // namespace

std::vector<OpDesc::Attr> CopyAttributes(const Op& op, std::initializer_list<const char*> names) {
  std::vector<OpDesc::Attr> attributes;
  for (const char* name : names) {
    if (const OpDesc::Attr* attr = op.FindAttr(name); attr != nullptr) attributes.push_back(*attr);
  }
  return attributes;
}

absl::StatusOr<std::string> AddScales(const Op& op, std::vector<float> scales, Lowering& lowering) {
  for (const float scale : scales) {
    if (std::isfinite(scale)) continue;
    return absl::InvalidArgumentError(absl::StrCat(DescribeInFile(op),
                                                   ": a product of steps of its codes is ", scale,
                                                   "; want ranges whose product a float holds"));
  }
  return lowering.AddParameter(absl::StrCat(op.outputs().front()->name(), ".scales"),
                               std::move(scales));
}

absl::StatusOr<IntegerReason> LowerProductOfCodes(const Op& op, const ProductOfCodes& product,
                                                  Lowering& lowering) {
  const Argument* const input = op.Input(product.activation_slot);
  const Argument* const weight_input = op.Input(product.weight_slot);
  if (input == nullptr || weight_input == nullptr || op.outputs().size() != 1) {
    return IntegerReason::kAttributes;
  }
  const std::optional<ActivationCodes> activation = lowering.FindCodes(*input);
  if (!activation) return IntegerReason::kNotQuantized;
  ASSIGN_OR_RETURN(const std::optional<ParameterRowCodes> rows,
                   FindParameterRowCodes(*weight_input, lowering));
  if (rows && product.bias) return IntegerReason::kZeroPoint;
  if (rows) return LowerRowWiseProduct(op, product, *activation, *rows, lowering);
  IntegerReason reason = IntegerReason::kAttributes;
  ASSIGN_OR_RETURN(std::optional<Weights> weights,
                   FindParameter(*weight_input, product, *activation, lowering, &reason));
  if (!weights) weights = FindActivation(*weight_input, product, *activation, lowering, &reason);
  if (!weights) return reason;
  if (product.bias && !CanAddBias(*product.bias, *weights, *activation)) {
    return IntegerReason::kAttributes;
  }
  const Argument& output = *op.outputs().front();
  ASSIGN_OR_RETURN(const std::string scales, AddScales(op, std::move(weights->scales), lowering));
  const ProductTrait& made = *FindOpSchema(product.type)->traits().product;
  OpBuilder integers(product.type);
  integers.Input(made.activation, activation->codes->name())
      .Input(made.weight, weights->codes->name())
      .Input("Scales", scales)
      .Output(made.output, output.name());
  if (product.bias) integers.Input("Bias", product.bias->codes->name());
  for (const std::string& operand : product.operands) integers.Input("Operands", operand);
  for (const OpDesc::Attr& attribute : product.attributes) integers.Attr(attribute);
  activation->AddZeroPoint(integers);
  OpDesc replacement = integers.Build();
  if (!product.epilogue.empty()) SetEpilogue(product.epilogue, &replacement);
  lowering.Replace(op, std::move(replacement));
  return IntegerReason::kOnIntegers;
}

}  // namespace fixpoint
