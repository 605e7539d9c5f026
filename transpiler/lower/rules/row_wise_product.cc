// A product with weights that have a step and a zero point for each column:
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=255}
//   fake_row_wise_dequantize(Scale=w.scale, X=w.int8, ZeroPoint=w.zero_point) -> (Out=w)
//     {quant_axis=1}
//   fc(Bias=b, Input=x, W=w) -> (Out=y) {in_num_col_dims=1}
//
//   integer_row_wise_fc(Bias=y.bias, Offsets=w.zero_point, Scales=y.scales, X=q, Y=w.int8)
//     -> (Out=y) {x_num_col_dims=1}
//
// with y.scales[c] = (2.0 / 255) * w.scale[c], each operation rounded, and y.bias[c] the nearest
// integer of b[c] / y.scales[c]. What follows a mul or a matmul is in the epilogue, in float.

#include "transpiler/lower/rules/row_wise_product.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/bias_codes.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"

namespace fixpoint {
namespace {

constexpr char kRowWiseProduct[] = "integer_row_wise_fc";

// The leading dimensions of X that are rows.
int RowDimsOf(const Op& op, const OpAttributes& attributes) {
  const ProductTrait& trait = *TraitsOf(op).product;
  if (trait.form != ProductTrait::Form::kFlattened) {
    return static_cast<int>(DeclaredDims(*op.Input(trait.activation)).size()) - 1;
  }
  if (trait.activation_rows.empty()) return 1;
  return static_cast<int>(attributes.Int(trait.activation_rows));
}

// The codes of a bias; nothing where int32 does not hold them.
absl::StatusOr<std::optional<std::string>> AddBiasCodes(const Op& op, const Tensor& bias,
                                                        absl::Span<const float> scales,
                                                        int64_t largest_code, Lowering& lowering) {
  std::vector<int32_t> codes(scales.size());
  if (!FillBiasCodes(bias.data<float>(), scales, largest_code, absl::MakeSpan(codes))) {
    return std::nullopt;
  }
  return lowering.AddParameter(absl::StrCat(op.outputs().front()->name(), ".bias"),
                               Tensor::FromValues<int32_t>({static_cast<int64_t>(codes.size())},
                                                           absl::MakeConstSpan(codes)));
}

}  // namespace

absl::StatusOr<IntegerReason> LowerRowWiseProduct(const Op& op, const ProductOfCodes& product,
                                                  BiasKind bias, std::vector<float> scales,
                                                  Lowering& lowering) {
  const ProductTrait& made = *FindOpSchema(kRowWiseProduct)->traits().product;
  OpBuilder integers(kRowWiseProduct);
  integers.Input(made.activation, product.activation.codes->name())
      .Input(made.weight, product.weight.codes->name())
      .Input("Offsets", product.weight.rows->zero_points->name())
      .Output(made.output, op.outputs().front()->name());
  const Tensor* const numbers = product.bias_numbers;
  std::optional<std::string> codes;
  if (product.bias) codes = std::string(product.bias->codes->name());
  if (bias == BiasKind::kRoundedToSums) {
    if (numbers->size() != static_cast<int64_t>(scales.size())) return IntegerReason::kAttributes;
    ASSIGN_OR_RETURN(
        codes, AddBiasCodes(op, *numbers, scales, product.decided.Sum().largest_bias(), lowering));
  }
  if (codes) integers.Input(made.bias, *codes);
  ASSIGN_OR_RETURN(const std::string parameter, AddScales(op, std::move(scales), lowering));
  integers.Input("Scales", parameter)
      .IntAttr("x_num_col_dims", RowDimsOf(op, lowering.AttributesOf(op)));
  const bool adds_numbers = numbers != nullptr && !codes;
  product.activation.AddZeroPoint(integers);
  lowering.ReplaceProduct(op, product.decided,
                          product.own_epilogue(adds_numbers).BuildInto(integers));
  return adds_numbers ? IntegerReason::kBiasAsNumbers : IntegerReason::kOnIntegers;
}

}  // namespace fixpoint
