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
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "transpiler/lower/rules/product_of_codes.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

// An op to be lowered, as its trait says it.
struct ProductOp {
  const Op& op;
  const ProductTrait& trait;
  const OpAttributes attributes;
  const Argument& activation;
  const Argument& weight;

  bool Says(const std::string& attribute) const {
    return !attribute.empty() && attributes.Bool(attribute);
  }
};

// The op on integers; nothing where there is none of these attributes.
std::optional<ProductOfCodes> ConvolutionOf(const ProductOp& product) {
  if (IsChannelsLast(product.attributes.String("data_format"))) return std::nullopt;
  const bool is_transposed = product.trait.form == ProductTrait::Form::kTransposedConvolution;
  ProductOfCodes codes;
  codes.type = is_transposed ? "integer_conv2d_transpose" : "integer_conv2d";
  codes.attributes = CopyAttributes(
      product.op, {"strides", "paddings", "padding_algorithm", "dilations", "groups"});
  if (is_transposed) {
    for (OpDesc::Attr& attribute : CopyAttributes(product.op, {"output_size", "output_padding"})) {
      codes.attributes.push_back(std::move(attribute));
    }
  }
  return codes;
}

std::optional<ProductOfCodes> FlattenedOf(const ProductOp& product) {
  ProductOfCodes codes;
  codes.type = "integer_mul";
  for (const auto& [attribute, name] : {std::pair(&product.trait.activation_rows, "x_num_col_dims"),
                                        std::pair(&product.trait.weight_rows, "y_num_col_dims")}) {
    if (attribute->empty() || product.op.FindAttr(*attribute) == nullptr) continue;
    const auto rows = static_cast<int32_t>(product.attributes.Int(*attribute));
    codes.attributes.push_back(MakeIntAttr(name, rows));
  }
  return codes;
}

// A vector is no matrix there.
std::optional<ProductOfCodes> MatricesOf(const ProductOp& product) {
  if (DeclaredDims(product.activation).size() < 2) return std::nullopt;
  ProductOfCodes codes;
  codes.type = "integer_matmul";
  if (product.Says(product.trait.transposes_activation)) {
    codes.attributes.push_back(MakeBoolAttr("trans_x", true));
  }
  if (product.Says(product.trait.transposes_weight)) {
    codes.attributes.push_back(MakeBoolAttr("trans_y", true));
  }
  return codes;
}

std::optional<ProductOfCodes> IntegersOf(const ProductOp& product) {
  switch (product.trait.form) {
    case ProductTrait::Form::kConvolution:
    case ProductTrait::Form::kTransposedConvolution:
      return ConvolutionOf(product);
    case ProductTrait::Form::kFlattened:
      return FlattenedOf(product);
    case ProductTrait::Form::kMatrices:
      return MatricesOf(product);
  }
  return std::nullopt;
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
    if (trait.does_more != nullptr && trait.does_more(op, attributes)) {
      return IntegerReason::kFusedWork;
    }
    const Argument* const activation = op.Input(trait.activation);
    const Argument* const weight = op.Input(trait.weight);
    if (activation == nullptr || weight == nullptr) return IntegerReason::kAttributes;
    const SumsOrReason sums =
        SumsOfProduct(op, attributes, DeclaredDims(*activation), DeclaredDims(*weight));
    if (const auto* const reason = std::get_if<IntegerReason>(&sums)) return *reason;
    std::optional<ProductOfCodes> codes = IntegersOf({op, trait, attributes, *activation, *weight});
    if (!codes) return IntegerReason::kAttributes;
    if (!trait.factor.empty()) codes->alpha = static_cast<float>(attributes.Float(trait.factor));
    const Argument* const bias = trait.bias.empty() ? nullptr : op.Input(trait.bias);
    if (bias != nullptr) {
      ASSIGN_OR_RETURN(codes->bias, FindParameterBiasCodes(*bias, lowering));
    }
    if (bias != nullptr && !codes->bias) {
      ASSIGN_OR_RETURN(const Tensor* numbers, lowering.FindParameter(*bias));
      if (numbers == nullptr || numbers->dtype() != VarType::FP32) {
        return IntegerReason::kNotParameter;
      }
      codes->bias_numbers = bias;
      codes->epilogue.push_back({Kind::kAddChannel});
      codes->operands.push_back(bias->variable()->name());
    }
    if (trait.stages != nullptr) {
      const Epilogue stages = trait.stages(attributes);
      codes->epilogue.insert(codes->epilogue.end(), stages.begin(), stages.end());
    }
    return LowerProductOfCodes(op, *codes, lowering);
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeProductRule() { return std::make_unique<ProductRule>(); }

}  // namespace fixpoint
