// Convolutions of codes, whatever they are behind; a depthwise one has as many groups as channels:
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=255}
//   dequantize_linear(Scale=w.scale, X=w.int8, ZeroPoint=...) -> (Y=w) {quant_axis=0}
//   conv2d(Filter=w, Input=x) -> (Output=y) {strides=[1, 1]}
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=y.scales) -> (Output=y) {strides=[1, 1]}
//
// with the scale of channel c (2.0 / 255) * (w.scale[c] / 127), each operation rounded.

#include <memory>

#include "ops/op_form.h"
#include "ops/window.h"
#include "transpiler/lowering/product_of_codes.h"
#include "transpiler/lowering/rule.h"

namespace fixpoint {
namespace {

// Whether it does more than convolve, as the reference's passes for oneDNN say it.
bool DoesMore(const OpAttributes& op) {
  return op.Bool("fuse_relu") || op.Bool("fuse_brelu") || !op.String("fuse_activation").empty() ||
         op.Bool("fuse_residual_connection");
}

class ConvolutionRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "convolution"; }
  absl::string_view doc() const override { return "A convolution of codes is one of integers."; }
  std::vector<std::string> op_types() const override { return {"conv2d", "depthwise_conv2d"}; }

  absl::StatusOr<LoweringReason> Lower(const Op& op, Lowering& lowering) const override {
    const OpAttributes attributes = lowering.AttributesOf(op);
    const bool is_other = op.Input("Bias") != nullptr || op.Input("ResidualData") != nullptr ||
                          IsChannelsLast(attributes.String("data_format")) ||
                          attributes.Bool("fuse_relu_before_depthwise_conv") ||
                          DoesMore(attributes);
    if (is_other) return LoweringReason::kAttributes;
    ProductOfCodes product;
    product.activation_slot = "Input";
    product.weight_slot = "Filter";
    product.channel_axis = 0;
    product.type = "integer_conv2d";
    product.attributes =
        CopyAttributes(op, {"strides", "paddings", "padding_algorithm", "dilations", "groups"});
    return LowerProductOfCodes(op, product, lowering);
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeConvolutionRule() { return std::make_unique<ConvolutionRule>(); }

}  // namespace fixpoint
