// An activation behind a product of codes:
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

#include "proto/status_macros.h"
#include "transpiler/lowering/move.h"
#include "transpiler/lowering/rule.h"
#include "transpiler/lowering/table.h"

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

// Nothing where no stage computes it.
std::optional<EpilogueStage> StageOf(const Op& op, const Activation& activation) {
  switch (activation.function) {
    case ActivationFunction::kRelu:
    case ActivationFunction::kReluKeepingNan:
      return EpilogueStage{Kind::kRelu};
    case ActivationFunction::kClip:
      if (op.type() != "relu6") return std::nullopt;
      return EpilogueStage{Kind::kClip, activation.a, activation.b};
    case ActivationFunction::kLeakyRelu:
      return EpilogueStage{Kind::kLeakyRelu, activation.a};
    case ActivationFunction::kHardSwish:
      // x * min(max(x + c, 0), a) / b
      if (activation.a != activation.b) return std::nullopt;
      return EpilogueStage{Kind::kHardSwish, 1 / activation.b, activation.c / activation.b};
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
    const std::optional<EpilogueStage> stage = StageOf(op, activation);
    // The stage makes a NaN 0.
    const bool keeps_nan =
        activation.function == ActivationFunction::kReluKeepingNan && !EndsInCodes(*out);
    const Op* const product = lowering.FindOpenProduct(*x);
    if (product != nullptr && stage && !keeps_nan) {
      lowering.TakeUp(*product, op, *out, {*stage});
      return LoweringReason::kInEpilogue;
    }
    ASSIGN_OR_RETURN(const bool is_table, LowerToTable(op, lowering));
    if (is_table) return LoweringReason::kOnIntegers;
    if (!stage) return LoweringReason::kNotQuantized;
    return product != nullptr && keeps_nan ? LoweringReason::kKeepsNan
                                           : LoweringReason::kNotBehindProduct;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeActivationRule() { return std::make_unique<ActivationRule>(); }

}  // namespace fixpoint
