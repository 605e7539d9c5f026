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

#include "proto/attributes.h"
#include "proto/status_macros.h"
#include "transpiler/lowering/rule.h"
#include "transpiler/lowering/table.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

float Number(const Op& op, absl::string_view name, double value_if_absent) {
  return static_cast<float>(FloatAttr(op.desc(), name).value_or(value_if_absent));
}

// Nothing where no stage computes it.
std::optional<EpilogueStage> StageOf(const Op& op) {
  if (op.type() == "relu") return EpilogueStage{Kind::kRelu};
  if (op.type() == "relu6") return EpilogueStage{Kind::kClip, 0, Number(op, "threshold", 6)};
  if (op.type() == "leaky_relu") return EpilogueStage{Kind::kLeakyRelu, Number(op, "alpha", 0.02)};
  if (op.type() != "hard_swish") return std::nullopt;
  const float threshold = Number(op, "threshold", 6);
  const float scale = Number(op, "scale", 6);
  if (threshold != scale) return std::nullopt;
  return EpilogueStage{Kind::kHardSwish, 1 / scale, Number(op, "offset", 3) / scale};
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
    const std::optional<EpilogueStage> stage = StageOf(op);
    const Op* const product = lowering.FindOpenProduct(*x);
    if (product != nullptr && stage) {
      lowering.TakeUp(*product, op, *out, {*stage});
      return LoweringReason::kInEpilogue;
    }
    ASSIGN_OR_RETURN(const bool is_table, LowerToTable(op, lowering));
    if (is_table) return LoweringReason::kOnIntegers;
    return stage ? LoweringReason::kNotBehindProduct : LoweringReason::kNotQuantized;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeActivationRule() { return std::make_unique<ActivationRule>(); }

}  // namespace fixpoint
