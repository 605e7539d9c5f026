// An activation after a product of codes:
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=y)
//   relu6(X=y) -> (Out=z) {threshold=6.0}
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=z)
//     {epilogue=["clip"], epilogue_a=[0.0], epilogue_b=[6.0]}
//
// On codes it becomes a table (table.h).

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ops/codes/folded_ops.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "transpiler/lower/rules/lowering_facts.h"
#include "transpiler/lower/rules/rule.h"
#include "transpiler/lower/rules/table.h"

namespace fixpoint {
namespace {

class ActivationRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "activation"; }
  absl::string_view doc() const override {
    return "An activation becomes a stage of an epilogue where there is one for it; on codes, "
           "every elementwise function becomes a table.";
  }
  std::vector<std::string> op_types() const override {
    return TypesWith([](const OpTraits& op) { return op.stage && !op.stage->normalizes; });
  }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    const StageTrait& stage = *TraitsOf(op).stage;
    const Argument* const x = op.Input(stage.input);
    if (x == nullptr || op.Output(stage.output) == nullptr) return IntegerReason::kAttributes;
    const Op* const product = lowering.FindOpenProduct(*x);
    IntegerReason reason = IntegerReason::kNotAfterProduct;
    if (product != nullptr) {
      const FoldOrReason decision =
          DecideFold(op, ResultOf(*product, *x, lowering), LoweringFacts(lowering, product));
      if (const auto* const fold = std::get_if<FoldedOp>(&decision)) {
        lowering.TakeUp(*product, *fold);
        return IntegerReason::kInEpilogue;
      }
      reason = std::get<IntegerReason>(decision);
    }
    ASSIGN_OR_RETURN(const bool is_table, LowerToTable(op, lowering));
    if (is_table) return IntegerReason::kOnIntegers;
    return stage.read(lowering.AttributesOf(op)) ? reason : IntegerReason::kNotQuantized;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeActivationRule() { return std::make_unique<ActivationRule>(); }

}  // namespace fixpoint
