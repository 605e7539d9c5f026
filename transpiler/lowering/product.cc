// Products of codes with a parameter on the right:
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=255}
//   dequantize_linear(Scale=w.scale, X=w.int8, ZeroPoint=...) -> (Y=w) {quant_axis=1}
//   mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1}
//
//   integer_mul(X=q, Y=w.int8, Scales=y.scales) -> (Out=y) {x_num_col_dims=1}

#include <memory>

#include "proto/attributes.h"
#include "transpiler/lowering/product_of_codes.h"
#include "transpiler/lowering/rule.h"

namespace fixpoint {
namespace {

// A matrix on the right, of which the last axis has the columns.
bool IsMatrix(const Argument* input) {
  if (input == nullptr || input->variable() == nullptr) return false;
  const VarType::TensorDesc* tensor = input->variable()->tensor();
  return tensor != nullptr && tensor->dims_size() == 2;
}

class ProductRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "product"; }
  absl::string_view doc() const override {
    return "A product of codes with a parameter is one of integers.";
  }
  std::vector<std::string> op_types() const override { return {"mul", "matmul", "matmul_v2"}; }

  absl::StatusOr<LoweringReason> Lower(const Op& op, Lowering& lowering) const override {
    if (!IsMatrix(op.Input("Y"))) return LoweringReason::kAttributes;
    const OpDesc& desc = op.desc();
    ProductOfCodes product{"X", "Y", /*channel_axis=*/1, /*channel_groups=*/1, "integer_matmul",
                           {}};
    if (op.type() == "mul") {
      if (IntAttr(desc, "y_num_col_dims").value_or(1) != 1) return LoweringReason::kAttributes;
      product.type = "integer_mul";
      product.attributes = {"x_num_col_dims"};
    } else if (op.type() == "matmul") {
      const bool is_plain = !BoolAttr(desc, "transpose_X").value_or(false) &&
                            !BoolAttr(desc, "transpose_Y").value_or(false) &&
                            FloatAttr(desc, "alpha").value_or(1) == 1 &&
                            IntAttr(desc, "head_number").value_or(1) == 1;
      if (!is_plain) return LoweringReason::kAttributes;
    } else if (BoolAttr(desc, "trans_x").value_or(false) ||
               BoolAttr(desc, "trans_y").value_or(false)) {
      return LoweringReason::kAttributes;
    }
    return LowerProductOfCodes(op, product, lowering);
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeProductRule() { return std::make_unique<ProductRule>(); }

}  // namespace fixpoint
