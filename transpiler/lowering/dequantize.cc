// What codes of an activation stand for, where something reads it as numbers:
//
//   dequantize_linear(Scale=s, X=q, ZeroPoint=...) -> (Y=x) {bit_length=8}
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=127}

#include <memory>

#include "ops/quant_math.h"
#include "proto/attributes.h"
#include "proto/op_builder.h"
#include "proto/status_macros.h"
#include "transpiler/lowering/rule.h"

namespace fixpoint {
namespace {

class DequantizeRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "dequantize"; }
  absl::string_view doc() const override {
    return "dequantize_linear of an activation's codes reads integers.";
  }
  std::vector<std::string> op_types() const override { return {"dequantize_linear"}; }

  absl::StatusOr<LoweringReason> Lower(const Op& op, Lowering& lowering) const override {
    const Argument* const x = op.Input("X");
    const Argument* const scale = op.Input("Scale");
    const Argument* const y = op.Output("Y");
    if (x == nullptr || scale == nullptr || y == nullptr || x->value() == nullptr) {
      return LoweringReason::kAttributes;
    }
    const VarType::TensorDesc* const codes = x->variable()->tensor();
    const bool is_integers =
        x->value()->op() != nullptr && codes != nullptr &&
        (codes->data_type() == VarType::INT8 || codes->data_type() == VarType::UINT8);
    if (!is_integers) return LoweringReason::kAtEdge;
    ASSIGN_OR_RETURN(const Tensor* range, lowering.FindParameter(*scale));
    if (range == nullptr || range->dtype() != VarType::FP32 || range->size() != 1) {
      return LoweringReason::kGranularity;
    }
    const int bits = static_cast<int>(IntAttr(op.desc(), "bit_length").value_or(8));
    lowering.Replace(op, OpBuilder("integer_dequantize")
                             .Input("X", x->name())
                             .Output("Out", y->name())
                             .FloatAttr("range", range->data<float>()[0])
                             .IntAttr("largest_code", LargestCode(bits))
                             .Build());
    return LoweringReason::kAtEdge;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeDequantizeRule() { return std::make_unique<DequantizeRule>(); }

}  // namespace fixpoint
