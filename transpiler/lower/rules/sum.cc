// A sum after a product of codes, with a bias or with a residual. A residual that is codes is
// added as such, by one fma with the step between them, which is what simulation does too
// (ops/codes/added_codes.h):
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
// Or to the codes that they are rounded to before (rounded_sums.h). After anything else:
//
//   elementwise_add(X=x, Y=y) -> (Out=z)
//
//   integer_add(X=y, Y=r) -> (Out=z) {range=2.0, largest_code=255}

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/codes/added_codes.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/folded_ops.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"
#include "transpiler/lower/rules/bias_codes.h"
#include "transpiler/lower/rules/lowering_facts.h"
#include "transpiler/lower/rules/rounded_sums.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

// Whether an epilogue has a stage that adds codes; there is at most one.
bool AddsCodes(const Op& product) {
  const Epilogue epilogue = *EpilogueOf(product.desc());
  return std::any_of(epilogue.begin(), epilogue.end(),
                     [](const EpilogueStage& stage) { return stage.is_of_codes(); });
}

class SumRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "sum"; }
  absl::string_view doc() const override {
    return "A sum with a bias or a residual becomes a stage of an epilogue.";
  }
  std::vector<std::string> op_types() const override {
    return TypesWith([](const OpTraits& op) { return op.sum.has_value(); });
  }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    const SumTrait& sum = *TraitsOf(op).sum;
    const Argument* const x = op.Input(sum.x);
    const Argument* const y = op.Input(sum.y);
    if (x == nullptr || y == nullptr || op.Output(sum.output) == nullptr) {
      return IntegerReason::kAttributes;
    }
    if (const auto rounded = FindRoundedSums(*x, lowering)) {
      ASSIGN_OR_RETURN(const bool is_added, AddToRounded(op, *rounded, *x, *y, lowering));
      if (is_added) return IntegerReason::kOnIntegers;
    }
    const Op* const product_of_x = lowering.FindOpenProduct(*x);
    const Op* const product_of_y = lowering.FindOpenProduct(*y);
    const Op* product = product_of_x != nullptr ? product_of_x : product_of_y;
    if (product == nullptr) return AddCodes(op, IntegerReason::kNotAfterProduct, lowering);
    if (product_of_y != nullptr) product = &ProductOfSum(*product, *product_of_y);
    const bool is_x = product == product_of_x;
    return TakeUp(op, *product, is_x ? *x : *y, is_x ? *y : *x, lowering);
  }

 private:
  // Adds the codes of an input to the numbers of the other; gives `otherwise` where none is codes.
  static IntegerReason AddCodes(const Op& op, IntegerReason otherwise, Lowering& lowering) {
    const Argument* const input = FindAddedCodes(op, LoweringFacts(lowering));
    if (input == nullptr) return otherwise;
    const SumTrait& trait = *TraitsOf(op).sum;
    const bool is_y = input->slot_name() == trait.y;
    const ActivationCodes codes = *lowering.FindCodes(*input);
    OpBuilder sum("integer_add");
    sum.Input("X", op.Input(is_y ? trait.x : trait.y)->name())
        .Input("Y", codes.codes->name())
        .Output("Out", op.Output(trait.output)->name())
        .FloatAttr("range", codes.range)
        .IntAttr("largest_code", codes.largest_code);
    if (codes.zero_point) sum.IntAttr("zero_point", *codes.zero_point);
    lowering.Replace(op, sum.Build());
    return IntegerReason::kAtEdge;
  }

  // The parameter with the codes of a bias as operands of an epilogue, which are no INT16.
  static absl::StatusOr<std::string> InInt32(const Argument& codes, Lowering& lowering) {
    ASSIGN_OR_RETURN(const Tensor* const held, lowering.FindParameter(codes));
    if (held->dtype() == VarType::INT32) return std::string(codes.name());
    const absl::Span<const int16_t> narrow = held->data<int16_t>();
    const std::vector<int32_t> wide(narrow.begin(), narrow.end());
    return lowering.AddParameter(
        absl::StrCat(codes.name(), ".int32"),
        Tensor::FromValues<int32_t>(held->dims(), absl::MakeConstSpan(wide)));
  }

  // Adds a bias of codes to sums that are rounded before. Returns whether the addend is such a
  // bias.
  static absl::StatusOr<bool> AddToRounded(const Op& op, const RoundedSums& sums, const Argument& x,
                                           const Argument& addend, Lowering& lowering) {
    ASSIGN_OR_RETURN(const std::optional<ParameterBiasCodes> bias,
                     FindParameterBiasCodes(addend, lowering));
    if (!bias) return false;
    const SumTrait& trait = *TraitsOf(op).sum;
    const Dims dims = DeclaredDims(x);
    const int channel_axis = TraitsOf(*sums.product).ChannelAxis(static_cast<int>(dims.size()));
    const std::optional<Epilogue> stages = StagesOfBias(sums, *bias, lowering);
    if (!stages || !IsOfChannels(DeclaredDims(addend), lowering.AttributesOf(op).Int(trait.axis),
                                 dims, channel_axis)) {
      return false;
    }
    FoldedOp fold{&op, *stages, FoldedOp::Operand::kChannels, &addend};
    fold.output = op.Output(trait.output);
    ASSIGN_OR_RETURN(const std::string codes, InInt32(*bias->codes, lowering));
    lowering.TakeUp(*sums.product, fold, {codes});
    lowering.rewriter().Remove(*sums.dequantize);
    lowering.rewriter().Remove(*sums.quantize);
    return true;
  }

  static absl::StatusOr<IntegerReason> TakeUp(const Op& op, const Op& product, const Argument& read,
                                              const Argument& addend, Lowering& lowering) {
    ASSIGN_OR_RETURN(const std::optional<ParameterBiasCodes> bias,
                     FindParameterBiasCodes(addend, lowering));
    const FoldOrReason decision =
        DecideFold(op, ResultOf(product, read, lowering), LoweringFacts(lowering, &product));
    const auto* const fold = std::get_if<FoldedOp>(&decision);
    if (fold == nullptr) return std::get<IntegerReason>(decision);
    const Argument* operand = &addend;
    if (fold->operand == FoldedOp::Operand::kBias) {
      lowering.TakeUpBias(product, *fold, *bias->codes);
      return IntegerReason::kOnIntegers;
    }
    if (fold->operand == FoldedOp::Operand::kCodes) {
      if (AddsCodes(product)) return AddCodes(op, IntegerReason::kAttributes, lowering);
      operand = lowering.FindCodes(addend)->codes;
    } else if (fold->operand == FoldedOp::Operand::kChannels) {
      RETURN_IF_ERROR(lowering.FindParameter(addend).status());
    }
    lowering.TakeUp(product, *fold, {std::string(operand->name())});
    return IntegerReason::kInEpilogue;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeSumRule() { return std::make_unique<SumRule>(); }

}  // namespace fixpoint
