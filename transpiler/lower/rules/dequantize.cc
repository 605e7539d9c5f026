// Dequantizes the codes of an activation, where something reads it as floats:
//
//   dequantize_linear(Scale=s, X=q, ZeroPoint=...) -> (Y=x) {bit_length=8}
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=127}
//
// and of affine codes, whose scale is the step of one code:
//
//   fake_dequantize_affine(X=q, Scale=s, ZeroPoint=z) -> (Out=x)
//
//   integer_dequantize(X=q) -> (Out=x) {range=0.01, largest_code=1, zero_point=64}

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/code_dtype.h"
#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "ops/codes/integer_reasons.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"
#include "transpiler/lower/portable_codes.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

// Whether a tensor holds one number, which is a code of that type.
bool HoldsCode(const Tensor& tensor, VarType::Type dtype) {
  return tensor.dtype() == VarType::FP32 && tensor.size() == 1 &&
         IsCode(tensor.data<float>()[0], CodesOfDtype(dtype));
}

class DequantizeRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "dequantize"; }
  absl::string_view doc() const override {
    return "An op that dequantizes an activation's codes reads them as integers.";
  }
  std::vector<std::string> op_types() const override {
    std::vector<std::string> types = StepsOfPortable(QuantOp::kDequantize);
    types.emplace_back(kDequantizeBias);
    types.emplace_back("cast");
    return types;
  }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    if (op.type() == "cast") {
      return IsCastOfCodes(op) ? IntegerReason::kAtEdge : IntegerReason::kNoRule;
    }
    const std::optional<CodeOp> read = lowering.CodeOpOf(op);
    // The op dequantizes a parameter: its readers are computed on the codes, or stay on floats.
    if (!read || (read->scales_are_steps && read->axis)) return IntegerReason::kAtEdge;
    const Argument* const x = read->input;
    const Argument* const y = read->output;
    if (x->value() == nullptr) return IntegerReason::kAttributes;
    const VarType::TensorDesc* const codes = x->variable()->tensor();
    // A variable that is kept from run to run stays as it is.
    const bool is_integers =
        x->value()->op() != nullptr && !x->variable()->persistable() && codes != nullptr &&
        (IsCodeDtype(codes->data_type()) || IsWideCodeDtype(codes->data_type()));
    if (!is_integers) return IntegerReason::kAtEdge;
    if (!lowering.DequantizesTensor(op)) return IntegerReason::kAttributes;
    ASSIGN_OR_RETURN(const Tensor* range, lowering.FindParameter(*read->scale));
    if (range == nullptr || range->dtype() != VarType::FP32 || range->size() != 1) {
      return IntegerReason::kGranularity;
    }
    RETURN_IF_ERROR(CheckRanges(op, range->data<float>()));
    OpBuilder numbers("integer_dequantize");
    numbers.Input("X", x->name())
        .Output("Out", y->name())
        .FloatAttr("range", range->data<float>()[0]);
    if (read->scales_are_steps) {
      ASSIGN_OR_RETURN(const Tensor* zero_point, lowering.FindParameter(*read->zero_point));
      if (zero_point == nullptr || !HoldsCode(*zero_point, codes->data_type())) {
        return IntegerReason::kZeroPoint;
      }
      numbers.IntAttr("largest_code", read->codes_of_scale())
          .IntAttr("zero_point", static_cast<int32_t>(zero_point->data<float>()[0]));
    } else {
      numbers.IntAttr("largest_code", read->codes_of_scale());
    }
    lowering.Replace(op, numbers.Build());
    return IntegerReason::kAtEdge;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeDequantizeRule() { return std::make_unique<DequantizeRule>(); }

}  // namespace fixpoint
