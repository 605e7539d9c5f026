#include "transpiler/lower/rules/product_of_codes.h"

#include <glog/logging.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/integer_reasons.h"
#include "ops/epilogue.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/wire/deterministic_bytes.h"
#include "transpiler/lower/rules/row_wise_product.h"

namespace fixpoint {
namespace {

Dims DimsOf(const Tensor& tensor) { return Dims(tensor.dims().begin(), tensor.dims().end()); }

WeightOperand OperandOf(const ParameterCodes& parameter) {
  WeightOperand weight;
  weight.codes = parameter.codes;
  weight.is_parameter = true;
  weight.form.codes.is_wide = parameter.is_wide;
  if (parameter.channel_axis >= 0) weight.form.codes.channel_axis = parameter.channel_axis;
  weight.form.dims = DimsOf(*parameter.tensor);
  for (size_t c = 0; c < parameter.ranges.size(); ++c) weight.steps.push_back(parameter.step(c));
  return weight;
}

WeightOperand OperandOf(const AffineParameterCodes& parameter) {
  WeightOperand weight;
  weight.codes = parameter.codes;
  weight.is_parameter = true;
  weight.form.codes.is_unsigned = IsUnsignedDtype(parameter.tensor->dtype());
  weight.form.codes.channel_axis = parameter.row_axis;
  weight.form.dims = DimsOf(*parameter.tensor);
  const auto steps = parameter.steps->data<float>();
  weight.steps.assign(steps.begin(), steps.end());
  if (parameter.row_axis) {
    weight.form.codes.has_channel_zero_points = true;
    weight.rows = parameter;
  } else {
    weight.form.codes.has_zero_point = true;
    weight.zero_point = parameter.zero_point;
  }
  return weight;
}

WeightOperand OperandOf(const ActivationCodes& codes, const Argument& input) {
  WeightOperand weight;
  weight.codes = codes.codes;
  weight.form = {codes.form(), DeclaredDims(input)};
  weight.steps = {codes.step()};
  weight.zero_point = codes.zero_point;
  return weight;
}

// The scales of the sums: one for each channel of the output, or one where a weight that is no
// parameter has one.
std::vector<float> ScalesOf(const ProductOfCodes& product) {
  const ProductSums& sums = product.decided.sums;
  const WeightOperand& weight = product.weight;
  const int64_t entries = weight.is_parameter ? weight.form.dims[sums.channel_axis] : 1;
  const int64_t channels = weight.is_parameter ? entries * sums.channel_groups : 1;
  std::vector<float> scales;
  for (int64_t c = 0; c < channels; ++c) {
    const float step = weight.steps[weight.steps.size() == 1 ? 0 : c % entries];
    scales.push_back(product.activation.step() * step * product.factor);
  }
  return scales;
}

BiasForm BiasFormOf(const ProductOfCodes& product, absl::Span<const float> scales) {
  if (product.bias_numbers != nullptr) return BiasForm::kFloats;
  if (!product.bias) return BiasForm::kNone;
  return product.bias->IsOfSums(scales) ? BiasForm::kCodesOfSums : BiasForm::kOtherCodes;
}

}  // namespace

absl::StatusOr<WeightOrReason> FindWeightOperand(const Argument& input, Lowering& lowering) {
  ASSIGN_OR_RETURN(const std::optional<AffineParameterCodes> affine,
                   FindAffineParameterCodes(input, lowering));
  if (affine) return OperandOf(*affine);
  IntegerReason reason = IntegerReason::kAttributes;
  ASSIGN_OR_RETURN(const std::optional<ParameterCodes> parameter,
                   lowering.FindParameterCodes(input, &reason));
  if (parameter) return OperandOf(*parameter);
  if (const auto codes = lowering.FindOperandCodes(input); codes) return OperandOf(*codes, input);
  return reason;
}

OpDesc ProductOfCodes::OwnEpilogue::BuildInto(OpBuilder& integers) const {
  for (const std::string& operand : operands) integers.Input("Operands", operand);
  OpDesc op = integers.Build();
  if (!stages.empty()) SetEpilogue(stages, &op);
  return op;
}

ProductOfCodes::OwnEpilogue ProductOfCodes::own_epilogue(bool adds_bias) const {
  OwnEpilogue epilogue;
  const auto add = [&epilogue](EpilogueStage::Kind kind, const Argument& operand) {
    epilogue.stages.push_back({kind});
    epilogue.operands.emplace_back(operand.name());
  };
  const OwnWork& own = decided.own;
  if (adds_bias) add(EpilogueStage::Kind::kAddChannel, *own.bias);
  if (own.residual != nullptr) add(EpilogueStage::Kind::kAddElement, *own.residual);
  epilogue.stages.insert(epilogue.stages.end(), own.stages.begin(), own.stages.end());
  return epilogue;
}

bool IsDefault(absl::string_view type, const OpDesc::Attr& attribute) {
  // They are the same in both eras.
  const OpDesc::Attr* const meant =
      CHECK_NOTNULL(FindOpSchema(type))->DefaultOf(attribute.name(), Era::kPaddle2);
  return meant != nullptr && DeterministicBytes(*meant) == DeterministicBytes(attribute);
}

std::vector<OpDesc::Attr> AttributesFor(absl::string_view type, const OpAttributes& attributes,
                                        std::initializer_list<const char*> names) {
  std::vector<OpDesc::Attr> meant;
  for (const char* name : names) {
    const OpDesc::Attr* const attribute = AttrOrDefault(attributes.op(), name, attributes.era());
    if (attribute == nullptr) continue;
    if (attributes.IsGiven(name) || !IsDefault(type, *attribute)) meant.push_back(*attribute);
  }
  return meant;
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
  const CodedProduct& decided = product.decided;
  const WeightOperand& weight = product.weight;
  if (weight.is_parameter &&
      decided.sums.channel_axis >= static_cast<int>(weight.form.dims.size())) {
    return IntegerReason::kAttributes;
  }
  std::vector<float> scales = ScalesOf(product);
  const BiasKind bias = decided.KindOfBias(BiasFormOf(product, scales));
  if (product.bias && bias != BiasKind::kToSums) return IntegerReason::kAttributes;
  if (weight.rows) return LowerRowWiseProduct(op, product, bias, std::move(scales), lowering);
  ASSIGN_OR_RETURN(const std::string parameter, AddScales(op, std::move(scales), lowering));
  const ProductTrait& made = *FindOpSchema(product.type)->traits().product;
  OpBuilder integers(product.type);
  integers.Input(made.activation, product.activation.codes->name())
      .Input(made.weight, weight.codes->name())
      .Input("Scales", parameter)
      .Output(made.output, op.outputs().front()->name());
  if (product.bias) integers.Input(made.bias, product.bias->codes->name());
  for (const OpDesc::Attr& attribute : product.attributes) integers.Attr(attribute);
  product.activation.AddZeroPoint(integers);
  if (weight.zero_point) integers.IntAttr("weight_zero_point", *weight.zero_point);
  const bool adds_numbers = product.bias_numbers != nullptr;
  lowering.ReplaceProduct(op, decided, product.own_epilogue(adds_numbers).BuildInto(integers));
  return IntegerReason::kOnIntegers;
}

}  // namespace fixpoint
