// An activation after a product of codes:
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=y)
//   relu6(X=y) -> (Out=z) {threshold=6.0}
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=z)
//     {epilogue=["clip"], epilogue_a=[0.0], epilogue_b=[6.0]}
//
// Of codes it is a table (table.h).

#include <memory>
#include <string>
#include <vector>

#include "ops/op_traits.h"
#include "ops/value_flow.h"
#include "proto/program.h"
#include "proto/status_macros.h"
#include "transpiler/lower/rules/rule.h"
#include "transpiler/lower/rules/table.h"

namespace fixpoint {
namespace {

class ActivationRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "activation"; }
  absl::string_view doc() const override {
    return "relu, relu6, leaky_relu and hard_swish are an operation of an epilogue; of codes every "
           "function of an element is a table.";
  }
  std::vector<std::string> op_types() const override {
    return TypesWith([](const OpTraits& op) { return op.stage && !op.stage->normalizes; });
  }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    const StageTrait& stage = *TraitsOf(op).stage;
    const Argument* const x = op.Input(stage.input);
    const Argument* const out = op.Output(stage.output);
    if (x == nullptr || out == nullptr) return IntegerReason::kAttributes;
    const auto stages = stage.read(lowering.AttributesOf(op));
    const Op* const product = lowering.FindOpenProduct(*x);
    const bool is_exact = stages && (!stages->in_codes_alone || BecomesCodes(*out, lowering.era()));
    if (product != nullptr && is_exact) {
      lowering.TakeUp(*product, op, *out, stages->epilogue);
      return IntegerReason::kInEpilogue;
    }
    ASSIGN_OR_RETURN(const bool is_table, LowerToTable(op, lowering));
    if (is_table) return IntegerReason::kOnIntegers;
    if (!stages) return IntegerReason::kNotQuantized;
    return product != nullptr ? IntegerReason::kKeepsNan : IntegerReason::kNotAfterProduct;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeActivationRule() { return std::make_unique<ActivationRule>(); }

}  // namespace fixpoint
