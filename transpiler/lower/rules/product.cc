// Products of codes, whatever comes before them: with a parameter on the right,
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=255}
//   dequantize_linear(Scale=w.scale, X=w.int8, ZeroPoint=...) -> (Y=w) {quant_axis=0}
//   conv2d(Filter=w, Input=x) -> (Output=y) {strides=[1, 1]}
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=y.scales) -> (Output=y) {strides=[1, 1]}
//
// with the scale of channel c (2.0 / 255) * (w.scale[c] / 127), each operation rounded; or of two
// activations, with one scale:
//
//   matmul(X=x, Y=y) -> (Out=z) {transpose_Y=true, alpha=0.125}
//
//   integer_matmul(X=q, Y=r, Scales=z.scales) -> (Out=z) {trans_y=true}
//
// A filter [C, O/groups, h, w] of a transposed convolution has its ranges along axis 1, of which an
// entry serves a channel of every group. What the op does itself after its sums is in the epilogue:
//
//   fc(Bias=b, Input=x, W=w) -> (Out=y) {activation_type="relu", in_num_col_dims=1}
//
//   integer_mul(Operands=b, Scales=y.scales, X=q, Y=w.int8) -> (Out=y)
//     {epilogue=["add_channel", "relu"], x_num_col_dims=1}

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ops/codes/coded_product.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"
#include "transpiler/lower/rules/product_of_codes.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

// The op on integers that has the place of a product.
struct OpOnIntegers {
  absl::string_view type;
  std::vector<OpDesc::Attr> attributes;  // with which it means what the product does

  void Add(const OpDesc::Attr& attribute, bool is_given = false) {
    if (is_given || !IsDefault(type, attribute)) attributes.push_back(attribute);
  }
};

// An op to be lowered, as its trait says it.
struct ProductOp {
  const Op& op;
  const ProductTrait& trait;
  const OpAttributes& attributes;

  bool Says(const std::string& attribute) const {
    return !attribute.empty() && attributes.Bool(attribute);
  }
};

OpOnIntegers ConvolutionOf(const ProductOp& product) {
  const bool is_transposed = product.trait.form == ProductTrait::Form::kTransposedConvolution;
  OpOnIntegers made;
  made.type = is_transposed ? "integer_conv2d_transpose" : "integer_conv2d";
  made.attributes =
      AttributesFor(made.type, product.attributes,
                    {"strides", "paddings", "padding_algorithm", "dilations", "groups"});
  if (is_transposed) {
    for (OpDesc::Attr& attribute :
         AttributesFor(made.type, product.attributes, {"output_size", "output_padding"})) {
      made.attributes.push_back(std::move(attribute));
    }
  }
  return made;
}

OpOnIntegers FlattenedOf(const ProductOp& product) {
  OpOnIntegers made;
  made.type = "integer_mul";
  for (const auto& [attribute, name] : {std::pair(&product.trait.activation_rows, "x_num_col_dims"),
                                        std::pair(&product.trait.weight_rows, "y_num_col_dims")}) {
    const int64_t rows = attribute->empty() ? 1 : product.attributes.Int(*attribute);
    made.Add(MakeIntAttr(name, static_cast<int32_t>(rows)),
             !attribute->empty() && product.attributes.IsGiven(*attribute));
  }
  return made;
}

OpOnIntegers MatricesOf(const ProductOp& product) {
  OpOnIntegers made;
  made.type = "integer_matmul";
  made.Add(MakeBoolAttr("trans_x", product.Says(product.trait.transposes_activation)));
  made.Add(MakeBoolAttr("trans_y", product.Says(product.trait.transposes_weight)));
  return made;
}

OpOnIntegers IntegersOf(const ProductOp& product) {
  switch (product.trait.form) {
    case ProductTrait::Form::kConvolution:
    case ProductTrait::Form::kTransposedConvolution:
      return ConvolutionOf(product);
    case ProductTrait::Form::kFlattened:
      return FlattenedOf(product);
    case ProductTrait::Form::kMatrices:
      return MatricesOf(product);
  }
  return {};
}

class ProductRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "product"; }
  absl::string_view doc() const override {
    return "A product or a convolution of codes is computed on integers; what the op itself does "
           "after it goes into the epilogue.";
  }
  std::vector<std::string> op_types() const override {
    return TypesWith([](const OpTraits& op) { return op.product && !op.has_epilogue; });
  }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    const ProductTrait& trait = *TraitsOf(op).product;
    const OpAttributes attributes = lowering.AttributesOf(op);
    const Argument* const input = op.Input(trait.activation);
    const Argument* const weight_input = op.Input(trait.weight);
    if (input == nullptr || weight_input == nullptr || op.outputs().size() != 1) {
      return IntegerReason::kAttributes;
    }
    const std::optional<ActivationCodes> activation = lowering.FindOperandCodes(*input);
    if (!activation) return IntegerReason::kNotQuantized;
    ASSIGN_OR_RETURN(const WeightOrReason found, FindWeightOperand(*weight_input, lowering));
    if (const auto* const reason = std::get_if<IntegerReason>(&found)) return *reason;
    const auto& weight = std::get<WeightOperand>(found);
    const ProductOrReason decision =
        DecideProduct(op, attributes, [&](const Argument& operand) -> OperandOrReason {
          if (&operand == weight_input) return weight.form;
          return CodedOperand{activation->form(), DeclaredDims(*input)};
        });
    if (const auto* const reason = std::get_if<IntegerReason>(&decision)) return *reason;
    const auto& decided = std::get<CodedProduct>(decision);
    if (decided.why_not_lowered) return *decided.why_not_lowered;
    OpOnIntegers made = IntegersOf({op, trait, attributes});
    ProductOfCodes product = {decided, *activation, weight, made.type, std::move(made.attributes)};
    if (!trait.factor.empty()) product.factor = static_cast<float>(attributes.Float(trait.factor));
    if (const Argument* const bias = decided.own.bias; bias != nullptr) {
      ASSIGN_OR_RETURN(product.bias, FindParameterBiasCodes(*bias, lowering));
      if (!product.bias) {
        ASSIGN_OR_RETURN(product.bias_numbers, lowering.FindParameter(*bias));
        if (product.bias_numbers == nullptr || product.bias_numbers->dtype() != VarType::FP32) {
          return IntegerReason::kNotParameter;
        }
      }
    }
    return LowerProductOfCodes(op, product, lowering);
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeProductRule() { return std::make_unique<ProductRule>(); }

}  // namespace fixpoint
