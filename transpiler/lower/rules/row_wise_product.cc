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
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/bias_codes.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

// The leading dimensions of X that are rows.
int RowDimsOf(const Op& op, const ProductOfCodes& product) {
  if (product.type != "integer_mul") {
    const Argument& x = *op.Input(TraitsOf(op).product->activation);
    return static_cast<int>(DeclaredDims(x).size()) - 1;
  }
  for (const OpDesc::Attr& attribute : product.attributes) {
    if (attribute.name() == "x_num_col_dims") return attribute.i();
  }
  return 1;
}

}  // namespace

absl::StatusOr<IntegerReason> LowerRowWiseProduct(const Op& op, const ProductOfCodes& product,
                                                  const CodedProduct& coded,
                                                  const ActivationCodes& activation,
                                                  const AffineParameterCodes& weights,
                                                  Lowering& lowering) {
  std::vector<float> scales;
  for (const float step : weights.steps->data<float>()) scales.push_back(activation.step() * step);

  Epilogue epilogue = product.epilogue;
  std::vector<std::string> operands = product.operands;
  const Argument& output = *op.outputs().front();
  OpBuilder integers("integer_row_wise_fc");
  integers.Input("X", activation.codes->name())
      .Input("Y", weights.codes->name())
      .Input("Offsets", weights.zero_points->name())
      .Output("Out", output.name());
  if (product.bias) integers.Input("Bias", product.bias->codes->name());
  IntegerReason reason = IntegerReason::kOnIntegers;
  if (product.bias_numbers != nullptr) {
    ASSIGN_OR_RETURN(const Tensor* bias, lowering.FindParameter(*product.bias_numbers));
    std::vector<int32_t> codes(scales.size());
    if (bias->size() != static_cast<int64_t>(scales.size())) return IntegerReason::kAttributes;
    if (FillBiasCodes(bias->data<float>(), scales, coded.Sum().largest_bias(),
                      absl::MakeSpan(codes))) {
      ASSIGN_OR_RETURN(
          const std::string parameter,
          lowering.AddParameter(absl::StrCat(output.name(), ".bias"),
                                Tensor::FromValues<int32_t>({static_cast<int64_t>(codes.size())},
                                                            absl::MakeConstSpan(codes))));
      integers.Input("Bias", parameter);
      epilogue.erase(epilogue.begin());
      operands.erase(operands.begin());
    } else {
      reason = IntegerReason::kBiasAsNumbers;
    }
  }
  ASSIGN_OR_RETURN(const std::string parameter, AddScales(op, std::move(scales), lowering));
  integers.Input("Scales", parameter).IntAttr("x_num_col_dims", RowDimsOf(op, product));
  for (const std::string& operand : operands) integers.Input("Operands", operand);
  activation.AddZeroPoint(integers);
  OpDesc replacement = integers.Build();
  if (!epilogue.empty()) SetEpilogue(epilogue, &replacement);
  lowering.Replace(op, std::move(replacement));
  return reason;
}

}  // namespace fixpoint
