// fc, whose bias and activation are operations of the epilogue:
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=255}
//   dequantize_linear(Scale=w.scale, X=w.int8, ZeroPoint=...) -> (Y=w) {quant_axis=1}
//   fc(Bias=b, Input=x, W=w) -> (Out=y) {activation_type="relu", in_num_col_dims=1}
//
//   integer_mul(Operands=b, Scales=y.scales, X=q, Y=w.int8) -> (Out=y)
//     {epilogue=["add_channel", "relu"], x_num_col_dims=1}

#include <memory>
#include <string>

#include "ops/op_form.h"
#include "proto/op_builder.h"
#include "proto/program.h"
#include "proto/status_macros.h"
#include "transpiler/lower/rules/product_of_codes.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

class FcRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "fc"; }
  absl::string_view doc() const override {
    return "fc of codes is a product of integers, with its bias and its relu in the epilogue.";
  }
  std::vector<std::string> op_types() const override { return {"fc"}; }

  absl::StatusOr<LoweringReason> Lower(const Op& op, Lowering& lowering) const override {
    const OpAttributes attributes = lowering.AttributesOf(op);
    const std::string activation = attributes.String("activation_type");
    if (attributes.Bool("padding_weights") || (!activation.empty() && activation != "relu")) {
      return LoweringReason::kAttributes;
    }
    ProductOfCodes product;
    product.activation_slot = "Input";
    product.weight_slot = "W";
    product.channel_axis = 1;
    product.type = "integer_mul";
    product.integer_activation_slot = "X";
    product.integer_weight_slot = "Y";
    product.attributes = {MakeIntAttr("x_num_col_dims", attributes.Int("in_num_col_dims"))};
    if (const Argument* const bias = op.Input("Bias"); bias != nullptr) {
      ASSIGN_OR_RETURN(product.bias, FindParameterBiasCodes(*bias, lowering));
    }
    if (const Argument* const bias = op.Input("Bias"); bias != nullptr && !product.bias) {
      ASSIGN_OR_RETURN(const Tensor* numbers, lowering.FindParameter(*bias));
      if (numbers == nullptr || numbers->dtype() != VarType::FP32) {
        return LoweringReason::kNotParameter;
      }
      product.epilogue.push_back({Kind::kAddChannel});
      product.operands.push_back(bias->variable()->name());
    }
    if (!activation.empty()) product.epilogue.push_back({Kind::kRelu});
    return LowerProductOfCodes(op, product, lowering);
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeFcRule() { return std::make_unique<FcRule>(); }

}  // namespace fixpoint
