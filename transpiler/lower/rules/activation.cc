// An activation after a product of codes:
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=y)
//   relu6(X=y) -> (Out=z) {threshold=6.0}
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=z)
//     {epilogue=["clip"], epilogue_a=[0.0], epilogue_b=[6.0]}
//
// Of codes it is a table (table.h).

#include "ops/activation.h"

#include <memory>
#include <optional>

#include "proto/program.h"
#include "proto/status_macros.h"
#include "transpiler/lower/rules/move.h"
#include "transpiler/lower/rules/rule.h"
#include "transpiler/lower/rules/table.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

// Whether nothing reads what an op gives but steps to codes, also after ops that move values. There
// a NaN has the code of 0.
bool EndsInCodes(const Argument& out) {
  return out.value() != nullptr && out.value()->variable().values().size() == 1 &&
         !out.value()->variable().persistable() && !out.value()->readers().empty() &&
         IsQuantizedAlone(*out.value());
}

struct StageOfActivation {
  EpilogueStage stage;
  bool loses_nan = false;  // the op gives NaN for NaN, the stage 0
};

// Nothing where no stage computes it.
std::optional<StageOfActivation> StageOf(const Op& op, const Activation& activation) {
  switch (activation.function) {
    case ActivationFunction::kRelu:
      return StageOfActivation{{Kind::kRelu}};
    case ActivationFunction::kReluKeepingNan:
      return StageOfActivation{{Kind::kRelu}, /*loses_nan=*/true};
    case ActivationFunction::kClip:
      // With a threshold below 0 the stage would make a NaN that.
      if (op.type() != "relu6" || !(activation.b >= 0)) return std::nullopt;
      return StageOfActivation{{Kind::kClip, activation.a, activation.b}, /*loses_nan=*/true};
    case ActivationFunction::kLeakyRelu:
      // With a slope of 0, to which a negative infinity is NaN too.
      if (activation.a == 0) return StageOfActivation{{Kind::kRelu}, /*loses_nan=*/true};
      return StageOfActivation{{Kind::kLeakyRelu, activation.a}};
    case ActivationFunction::kHardSwish:
      // x * min(max(x + c, 0), a) / b
      if (activation.a != activation.b) return std::nullopt;
      return StageOfActivation{{Kind::kHardSwish, 1 / activation.b, activation.c / activation.b}};
    default:
      return std::nullopt;
  }
}

class ActivationRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "activation"; }
  absl::string_view doc() const override {
    return "relu, relu6, leaky_relu and hard_swish are an operation of an epilogue; of codes every "
           "function of an element is a table.";
  }
  std::vector<std::string> op_types() const override { return ActivationTypes(); }

  absl::StatusOr<LoweringReason> Lower(const Op& op, Lowering& lowering) const override {
    const Argument* const x = op.Input("X");
    const Argument* const out = op.Output("Out");
    if (x == nullptr || out == nullptr) return LoweringReason::kAttributes;
    const Activation activation =
        ActivationOf(op.type(), lowering.AttributesOf(op), lowering.era());
    const std::optional<StageOfActivation> stage = StageOf(op, activation);
    const Op* const product = lowering.FindOpenProduct(*x);
    const bool keeps_nan = product != nullptr && stage && stage->loses_nan && !EndsInCodes(*out);
    if (product != nullptr && stage && !keeps_nan) {
      lowering.TakeUp(*product, op, *out, {stage->stage});
      return LoweringReason::kInEpilogue;
    }
    ASSIGN_OR_RETURN(const bool is_table, LowerToTable(op, lowering));
    if (is_table) return LoweringReason::kOnIntegers;
    if (!stage) return LoweringReason::kNotQuantized;
    return keeps_nan ? LoweringReason::kKeepsNan : LoweringReason::kNotAfterProduct;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeActivationRule() { return std::make_unique<ActivationRule>(); }

}  // namespace fixpoint
