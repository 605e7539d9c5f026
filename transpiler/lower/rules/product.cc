// Products of codes with a parameter on the right:
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=255}
//   dequantize_linear(Scale=w.scale, X=w.int8, ZeroPoint=...) -> (Y=w) {quant_axis=1}
//   mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1}
//
//   integer_mul(X=q, Y=w.int8, Scales=y.scales) -> (Out=y) {x_num_col_dims=1}
//
// or of two activations, with one scale:
//
//   matmul(X=x, Y=y) -> (Out=z) {transpose_Y=true, alpha=0.125}
//
//   integer_matmul(X=q, Y=r, Scales=z.scales) -> (Out=z) {trans_y=true}

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "ops/op_form.h"
#include "proto/op_builder.h"
#include "proto/program.h"
#include "transpiler/lower/rules/product_of_codes.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

// As an op on integers says it.
struct Product {
  bool is_mul = false;
  bool transpose_x = false;
  bool transpose_y = false;
  float alpha = 1;
};

// Nothing where there is more to it.
std::optional<Product> ProductOf(absl::string_view type, const OpAttributes& op) {
  if (type == "mul") return Product{/*is_mul=*/true};
  if (type == "matmul_v2") return Product{false, op.Bool("trans_x"), op.Bool("trans_y")};
  if (op.Int("head_number") != 1 || !op.Ints("fused_reshape_Out").empty() ||
      !op.Ints("fused_transpose_Out").empty()) {
    return std::nullopt;
  }
  return Product{false, op.Bool("transpose_X"), op.Bool("transpose_Y"),
                 static_cast<float>(op.Float("alpha"))};
}

// Null where it has none.
const VarType::TensorDesc* TensorOf(const Argument& input) {
  return input.variable() != nullptr ? input.variable()->tensor() : nullptr;
}

// Whether both are matrices, or as many matrices, or X is many and Y one, so that no operand is
// repeated for the matrices of the other.
bool HaveSameMatrices(const VarType::TensorDesc& x, const VarType::TensorDesc& y,
                      const Product& product) {
  if (x.dims_size() < 2 || y.dims_size() < 2) return false;
  if (y.dims_size() == 2) return x.dims_size() == 2 || !product.transpose_x;
  if (x.dims_size() != y.dims_size()) return false;
  for (int i = 0; i + 2 < x.dims_size(); ++i) {
    if (x.dims(i) != y.dims(i)) return false;
  }
  return true;
}

class ProductRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "product"; }
  absl::string_view doc() const override {
    return "A product of codes, with a parameter or of two activations, is one of integers.";
  }
  std::vector<std::string> op_types() const override { return {"mul", "matmul", "matmul_v2"}; }

  absl::StatusOr<LoweringReason> Lower(const Op& op, Lowering& lowering) const override {
    const Argument* const x = op.Input("X");
    const Argument* const y = op.Input("Y");
    const OpAttributes attributes = lowering.AttributesOf(op);
    const std::optional<Product> product = ProductOf(op.type(), attributes);
    if (x == nullptr || y == nullptr || !product) return LoweringReason::kAttributes;
    const VarType::TensorDesc* const x_tensor = TensorOf(*x);
    const VarType::TensorDesc* const y_tensor = TensorOf(*y);
    if (x_tensor == nullptr || y_tensor == nullptr) return LoweringReason::kUnknownShape;
    ProductOfCodes codes;
    codes.activation_slot = "X";
    codes.weight_slot = "Y";
    codes.channel_axis = y_tensor->dims_size() - (product->transpose_y ? 2 : 1);
    codes.alpha = product->alpha;
    if (product->is_mul) {
      // The columns are the last axis.
      if (attributes.Int("y_num_col_dims") != codes.channel_axis) {
        return LoweringReason::kAttributes;
      }
      codes.type = "integer_mul";
      codes.attributes = CopyAttributes(op, {"x_num_col_dims", "y_num_col_dims"});
    } else {
      if (!HaveSameMatrices(*x_tensor, *y_tensor, *product)) return LoweringReason::kAttributes;
      codes.type = "integer_matmul";
      if (product->transpose_x) codes.attributes.push_back(MakeBoolAttr("trans_x", true));
      if (product->transpose_y) codes.attributes.push_back(MakeBoolAttr("trans_y", true));
    }
    return LowerProductOfCodes(op, codes, lowering);
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeProductRule() { return std::make_unique<ProductRule>(); }

}  // namespace fixpoint
