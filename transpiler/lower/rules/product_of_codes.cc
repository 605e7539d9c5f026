#include "transpiler/lower/rules/product_of_codes.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/codes/coded_product.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "transpiler/lower/rules/affine_parameter.h"
#include "transpiler/lower/rules/row_wise_product.h"

namespace fixpoint {
namespace {

// The codes on the right.
struct Weights {
  const Argument* codes = nullptr;
  OperandCodes form;
  Dims dims;
  std::vector<float> steps;                  // one, or one for each channel
  std::optional<int32_t> zero_point;         // of all codes
  std::optional<AffineParameterCodes> rows;  // those of a parameter with zero points of columns
};

Weights WeightsOf(const ParameterCodes& parameter) {
  Weights weights;
  weights.codes = parameter.codes;
  if (parameter.channel_axis >= 0) weights.form.channel_axis = parameter.channel_axis;
  weights.dims.assign(parameter.tensor->dims().begin(), parameter.tensor->dims().end());
  for (size_t c = 0; c < parameter.ranges.size(); ++c) weights.steps.push_back(parameter.step(c));
  return weights;
}

Weights WeightsOf(const AffineParameterCodes& parameter) {
  Weights weights;
  weights.codes = parameter.codes;
  weights.form.is_unsigned = parameter.tensor->dtype() == VarType::UINT8;
  weights.form.channel_axis = parameter.row_axis;
  weights.dims.assign(parameter.tensor->dims().begin(), parameter.tensor->dims().end());
  weights.steps.assign(parameter.steps->data<float>().begin(),
                       parameter.steps->data<float>().end());
  if (parameter.row_axis) {
    weights.form.has_channel_zero_points = true;
    weights.rows = parameter;
  } else {
    weights.form.has_zero_point = true;
    weights.zero_point = parameter.zero_point;
  }
  return weights;
}

Weights WeightsOf(const ActivationCodes& codes, const Argument& input) {
  return {codes.codes,    codes.form(),     DeclaredDims(input),
          {codes.step()}, codes.zero_point, std::nullopt};
}

absl::StatusOr<std::optional<Weights>> FindWeights(const Argument& input, Lowering& lowering,
                                                   IntegerReason* reason) {
  ASSIGN_OR_RETURN(const std::optional<AffineParameterCodes> affine,
                   FindAffineParameterCodes(input, lowering));
  if (affine) return WeightsOf(*affine);
  ASSIGN_OR_RETURN(const std::optional<ParameterCodes> parameter,
                   lowering.FindParameterCodes(input, reason));
  if (parameter) return WeightsOf(*parameter);
  const std::optional<ActivationCodes> codes = lowering.FindCodes(input);
  return codes ? std::optional(WeightsOf(*codes, input)) : std::nullopt;
}

// The scales of the sums: one for each channel of the output, or one where a weight that is no
// parameter has one.
std::vector<float> ScalesOf(const ActivationCodes& activation, const Weights& weights,
                            const ProductSums& sums, bool is_parameter, float factor) {
  const int64_t entries = is_parameter ? weights.dims[sums.channel_axis] : 1;
  const int64_t channels = is_parameter ? entries * sums.channel_groups : 1;
  std::vector<float> scales;
  for (int64_t c = 0; c < channels; ++c) {
    const float step = weights.steps[weights.steps.size() == 1 ? 0 : c % entries];
    scales.push_back(activation.step() * step * factor);
  }
  return scales;
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
  const ProductTrait& trait = *TraitsOf(op).product;
  const Argument* const input = op.Input(trait.activation);
  const Argument* const weight_input = op.Input(trait.weight);
  if (input == nullptr || weight_input == nullptr || op.outputs().size() != 1) {
    return IntegerReason::kAttributes;
  }
  const std::optional<ActivationCodes> activation = lowering.FindCodes(*input);
  if (!activation) return IntegerReason::kNotQuantized;
  IntegerReason reason = IntegerReason::kAttributes;
  ASSIGN_OR_RETURN(const std::optional<Weights> weights,
                   FindWeights(*weight_input, lowering, &reason));
  if (!weights) return reason;
  const SumsOrReason sums =
      SumsOfProduct(op, lowering.AttributesOf(op), DeclaredDims(*input), weights->dims);
  if (const auto* const why = std::get_if<IntegerReason>(&sums)) return *why;
  const CodedProduct coded = {std::get<ProductSums>(sums), activation->form(), weights->form};
  if (const auto why = coded.WhyNotOnIntegers()) return *why;
  const bool is_parameter = weights->codes->variable()->persistable();
  if (is_parameter && coded.sums.channel_axis >= static_cast<int>(weights->dims.size())) {
    return IntegerReason::kAttributes;
  }
  std::vector<float> scale_of_channels =
      ScalesOf(*activation, *weights, coded.sums, is_parameter, product.alpha);
  if (product.bias) {
    const bool is_of_sums = product.bias->IsOfSums(scale_of_channels);
    const BiasForm form = is_of_sums ? BiasForm::kCodesOfSums : BiasForm::kOtherCodes;
    if (coded.KindOfBias(form) != BiasKind::kToSums) return IntegerReason::kAttributes;
  }
  if (weights->rows) {
    return LowerRowWiseProduct(op, product, coded, *activation, *weights->rows, lowering);
  }
  const Argument& output = *op.outputs().front();
  ASSIGN_OR_RETURN(const std::string scales, AddScales(op, std::move(scale_of_channels), lowering));
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
  if (weights->zero_point) integers.IntAttr("weight_zero_point", *weights->zero_point);
  OpDesc replacement = integers.Build();
  if (!product.epilogue.empty()) SetEpilogue(product.epilogue, &replacement);
  lowering.Replace(op, std::move(replacement));
  return IntegerReason::kOnIntegers;
}

}  // namespace fixpoint
