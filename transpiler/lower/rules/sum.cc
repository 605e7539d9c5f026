// A sum after a product of codes, with a bias or with a residual. A residual that is codes is
// added as such, by one fma with the step between them, which is what simulation does too
// (runtime/executor/ops/residual.h):
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=y)
//   integer_dequantize(X=r) -> (Out=x) {range=2.0, largest_code=255}
//   elementwise_add(X=x, Y=y) -> (Out=z)
//
//   integer_conv2d(Filter=w.int8, Input=q, Operands=r, Scales=s) -> (Output=z)
//     {epilogue=["add_uint8"], epilogue_a=[0.00784313772]}
//
// A bias of codes is added to the sums themselves:
//
//   fake_dequantize_bias(InputScale=x.scale, WeightScale=w.int8.scale, X=b.int32) -> (Out=b)
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=y)
//   elementwise_add(X=y, Y=b) -> (Out=z) {axis=1}
//
//   integer_conv2d(Bias=b.int32, Filter=w.int8, Input=q, Scales=s) -> (Output=z)
//
// After anything else:
//
//   elementwise_add(X=x, Y=y) -> (Out=z)
//
//   integer_add(X=y, Y=r) -> (Out=z) {range=2.0, largest_code=255}

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ops/dims.h"
#include "ops/equal_shapes.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/sums_of_codes.h"
#include "proto/op_builder.h"
#include "proto/program.h"
#include "proto/status_macros.h"
#include "transpiler/lower/rules/bias_codes.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

const VarType::TensorDesc* TensorOf(const Argument& argument) {
  return argument.variable() != nullptr ? argument.variable()->tensor() : nullptr;
}

// Whether an epilogue has a stage that adds codes; there is at most one.
bool AddsCodes(const Op& product) {
  const Epilogue epilogue = *EpilogueOf(product.desc());
  return std::any_of(epilogue.begin(), epilogue.end(),
                     [](const EpilogueStage& stage) { return stage.is_of_codes(); });
}

// Whether `addend`, at `axis` of x, has one element for each of the channels on `channel_axis`.
bool IsOfChannels(const std::vector<int64_t>& addend, int64_t axis, const VarType::TensorDesc& x,
                  int channel_axis) {
  const int rank = x.dims_size();
  const int addend_rank = static_cast<int>(addend.size());
  const int64_t at = axis < 0 ? rank - addend_rank : axis;
  if (at < 0 || at > channel_axis || at + addend_rank <= channel_axis) return false;
  for (int i = 0; i < addend_rank; ++i) {
    if (addend[i] != (at + i == channel_axis ? x.dims(channel_axis) : 1)) return false;
  }
  return true;
}

// Whether the sums of a product, which nothing is done with yet, are in the steps of a bias, and 32
// bits hold both.
absl::StatusOr<bool> CanAddCodes(const Op& product, const ParameterBiasCodes& bias,
                                 Lowering& lowering) {
  const OpSchema* const schema = FindOpSchema(product.type());
  const std::optional<ProductTrait>& trait = TraitsOf(product).product;
  const Argument* const scales = product.Input("Scales");
  if (!trait || schema->FindInput("Bias", lowering.era()) == nullptr ||
      product.Input("Bias") != nullptr || product.Input("Offsets") != nullptr ||
      scales == nullptr || !EpilogueOf(product.desc())->empty()) {
    return false;
  }
  ASSIGN_OR_RETURN(const Tensor* values, lowering.FindParameter(*scales));
  ASSIGN_OR_RETURN(const Tensor* weights, lowering.FindParameter(*product.Input(trait->weight)));
  if (values == nullptr || weights == nullptr) return false;
  const VarType::TensorDesc* const input = TensorOf(*product.Input(trait->activation));
  SumOfProducts sum;
  sum.products = weights->size() / bias.tensor->size();
  sum.is_unsigned = input == nullptr || input->data_type() == VarType::UINT8;
  sum.has_zero_point = lowering.AttributesOf(product).Int("input_zero_point") != 0;
  sum.has_bias = true;
  return SumsFit(sum) && bias.IsOfSums(values->data<float>());
}

// Whether a run may hold what an input reads as codes, so that a sum adds those
// (runtime/executor/ops/residual.h).
bool MayBeHeldAsCodes(const Argument& input, Era era) {
  const Argument* at = &input;
  while (at != nullptr && at->value() != nullptr) {
    if (at->value()->origin() == Value::Origin::kEntry) return at->op().block().index() > 0;
    if (at->value()->origin() != Value::Origin::kWrite) return true;
    const Op* const op = at->value()->op();
    const OpSchema* const schema = FindOpSchema(op->type());
    if (schema == nullptr) return false;
    switch (schema->quant_op()) {
      case QuantOp::kDequantize:
      case QuantOp::kQuantizeDequantize:
        return true;
      case QuantOp::kQuantize:
        return false;
      case QuantOp::kObserve:
        break;
      case QuantOp::kNone:
        if (!schema->KeepsRange(op->desc(), era)) return false;
    }
    at = op->Input("X");
  }
  return false;
}

class SumRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "sum"; }
  absl::string_view doc() const override {
    return "The sum with a bias or a residual is an operation of an epilogue.";
  }
  std::vector<std::string> op_types() const override {
    return TypesWith([](const OpTraits& op) { return op.sum.has_value(); });
  }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    const SumTrait& sum = *TraitsOf(op).sum;
    const Argument* const x = op.Input(sum.x);
    const Argument* const y = op.Input(sum.y);
    const Argument* const out = op.Output(sum.output);
    if (x == nullptr || y == nullptr || out == nullptr) return IntegerReason::kAttributes;
    // Of two products the later one takes the sum up.
    const Op* product = lowering.FindOpenProduct(*y);
    const Op* const product_of_x = lowering.FindOpenProduct(*x);
    bool is_x = product == nullptr;
    if (product_of_x != nullptr && product != nullptr) is_x = product->IsBefore(*product_of_x);
    if (is_x) product = product_of_x;
    if (product == nullptr) return AddCodes(op, IntegerReason::kNotAfterProduct, lowering);
    return TakeUp(op, *product, is_x ? *x : *y, is_x ? *y : *x, is_x, *out, lowering);
  }

 private:
  // Adds the codes of Y, or of X where Y is none, to numbers; gives `otherwise` where neither is.
  static IntegerReason AddCodes(const Op& op, IntegerReason otherwise, Lowering& lowering) {
    if (!HaveEqualShapes(op)) return otherwise;
    const SumTrait& trait = *TraitsOf(op).sum;
    for (const auto& [codes_slot, numbers_slot] :
         {std::pair(trait.y, trait.x), std::pair(trait.x, trait.y)}) {
      const std::optional<ActivationCodes> codes = lowering.FindCodes(*op.Input(codes_slot));
      if (!codes) continue;
      OpBuilder sum("integer_add");
      sum.Input("X", op.Input(numbers_slot)->name())
          .Input("Y", codes->codes->name())
          .Output("Out", op.Output(trait.output)->name())
          .FloatAttr("range", codes->range)
          .IntAttr("largest_code", codes->largest_code);
      if (codes->zero_point) sum.IntAttr("zero_point", *codes->zero_point);
      lowering.Replace(op, sum.Build());
      return IntegerReason::kAtEdge;
    }
    return otherwise;
  }

  static absl::StatusOr<IntegerReason> TakeUp(const Op& op, const Op& product,
                                              const Argument& result, const Argument& addend,
                                              bool result_is_x, const Argument& out,
                                              Lowering& lowering) {
    const VarType::TensorDesc* const dims = TensorOf(result);
    const VarType::TensorDesc* const addend_dims = TensorOf(addend);
    if (dims == nullptr || addend_dims == nullptr) return IntegerReason::kUnknownShape;
    if (HaveEqualShapes(op)) {
      const std::optional<ActivationCodes> codes = lowering.FindCodes(addend);
      if (!codes && MayBeHeldAsCodes(addend, lowering.era())) return IntegerReason::kAtEdge;
      if (!codes) {
        lowering.TakeUp(product, op, out, {{Kind::kAddElement}}, {addend.variable()->name()});
        return IntegerReason::kInEpilogue;
      }
      if (AddsCodes(product)) return AddCodes(op, IntegerReason::kAttributes, lowering);
      const Kind kind = codes->is_unsigned ? Kind::kAddUint8 : Kind::kAddInt8;
      const auto zero_point = static_cast<float>(codes->zero_point.value_or(0));
      lowering.TakeUp(product, op, out, {{kind, codes->step(), zero_point}},
                      {std::string(codes->codes->name())});
      return IntegerReason::kInEpilogue;
    }
    const int channel_axis = TraitsOf(product).ChannelAxis(dims->dims_size());
    const int64_t axis = lowering.AttributesOf(op).Int(TraitsOf(op).sum->axis);
    ASSIGN_OR_RETURN(const std::optional<ParameterBiasCodes> codes,
                     FindParameterBiasCodes(addend, lowering));
    if (codes) {
      ASSIGN_OR_RETURN(const bool can_add, CanAddCodes(product, *codes, lowering));
      if (!can_add || !result_is_x ||
          !IsOfChannels(codes->tensor->dims(), axis, *dims, channel_axis)) {
        return IntegerReason::kAttributes;
      }
      lowering.TakeUpBias(product, op, out, *codes->codes);
      return IntegerReason::kOnIntegers;
    }
    ASSIGN_OR_RETURN(const Tensor* bias, lowering.FindParameter(addend));
    if (bias == nullptr) return IntegerReason::kNotParameter;
    if (!result_is_x || bias->dtype() != VarType::FP32 ||
        !IsOfChannels(bias->dims(), axis, *dims, channel_axis)) {
      return IntegerReason::kAttributes;
    }
    lowering.TakeUp(product, op, out, {{Kind::kAddChannel}}, {addend.variable()->name()});
    return IntegerReason::kInEpilogue;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeSumRule() { return std::make_unique<SumRule>(); }

}  // namespace fixpoint
