// Convolutions of codes, whatever comes before them; a depthwise one has as many groups as
// channels:
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=255}
//   dequantize_linear(Scale=w.scale, X=w.int8, ZeroPoint=...) -> (Y=w) {quant_axis=0}
//   conv2d(Filter=w, Input=x) -> (Output=y) {strides=[1, 1]}
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=y.scales) -> (Output=y) {strides=[1, 1]}
//
// with the scale of channel c (2.0 / 255) * (w.scale[c] / 127), each operation rounded.

#include <memory>

#include "ops/fused_work.h"
#include "ops/op_form.h"
#include "ops/window.h"
#include "proto/program.h"
#include "transpiler/lower/rules/product_of_codes.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

class ConvolutionRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "convolution"; }
  absl::string_view doc() const override { return "A convolution of codes is one of integers."; }
  std::vector<std::string> op_types() const override { return {"conv2d", "depthwise_conv2d"}; }

  absl::StatusOr<LoweringReason> Lower(const Op& op, Lowering& lowering) const override {
    const OpAttributes attributes = lowering.AttributesOf(op);
    const absl::StatusOr<FusedWork> fused = FusedWorkOf(op, attributes);
    if (!fused.ok() || fused->any()) return LoweringReason::kFusedWork;
    if (IsChannelsLast(attributes.String("data_format"))) return LoweringReason::kAttributes;
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
