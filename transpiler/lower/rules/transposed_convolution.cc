// Transposed convolutions of codes. Filter [C, O/groups, h, w] has its ranges along axis 1, of
// which an entry serves a channel of every group:
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=255}
//   dequantize_linear(Scale=w.scale, X=w.int8, ZeroPoint=...) -> (Y=w) {quant_axis=1}
//   conv2d_transpose(Filter=w, Input=x) -> (Output=y) {groups=2}
//
//   integer_conv2d_transpose(Filter=w.int8, Input=q, Scales=y.scales) -> (Output=y) {groups=2}

#include <memory>

#include "ops/fused_work.h"
#include "ops/op_form.h"
#include "ops/window.h"
#include "proto/program.h"
#include "transpiler/lower/rules/product_of_codes.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

class TransposedConvolutionRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "transposed_convolution"; }
  absl::string_view doc() const override {
    return "A transposed convolution of codes is one of integers.";
  }
  std::vector<std::string> op_types() const override {
    return {"conv2d_transpose", "depthwise_conv2d_transpose"};
  }

  absl::StatusOr<LoweringReason> Lower(const Op& op, Lowering& lowering) const override {
    const OpAttributes attributes = lowering.AttributesOf(op);
    const int64_t groups = attributes.Int("groups");
    if (!CheckNothingFused(op).ok()) return LoweringReason::kFusedWork;
    if (groups < 1 || IsChannelsLast(attributes.String("data_format"))) {
      return LoweringReason::kAttributes;
    }
    ProductOfCodes product;
    product.activation_slot = "Input";
    product.weight_slot = "Filter";
    product.channel_axis = 1;
    product.channel_groups = groups;
    product.type = "integer_conv2d_transpose";
    product.attributes =
        CopyAttributes(op, {"strides", "paddings", "padding_algorithm", "dilations", "groups",
                            "output_size", "output_padding"});
    return LowerProductOfCodes(op, product, lowering);
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeTransposedConvolutionRule() {
  return std::make_unique<TransposedConvolutionRule>();
}

}  // namespace fixpoint
