// inline_scalars: makes parameters of one element attributes, so that a product folds what they do
// into its epilogue:
//
//   var a f32[1] persistable
//   elementwise_mul(X=a, Y=x) -> (Out=y)
//   elementwise_add(X=y, Y=b) -> (Out=z)
//   prelu(X=z, Alpha=c) -> (Out=p) {mode="all"}
//
//   scale(X=x) -> (Out=y) {bias=0.0, scale=2.0}
//   scale(X=y) -> (Out=z) {bias=0.5, scale=1.0}
//   leaky_relu(X=z) -> (Out=p) {alpha=0.25}
//
// where a holds 2, b holds 0.5 and c holds 0.25. A dropout that scales at inference becomes a scale
// too. A parameter has no more dimensions than the other operand; it stays where it is not finite,
// or where both operands are parameters.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/codes/declared_dims.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/uses.h"
#include "transpiler/prepare/constants.h"
#include "transpiler/prepare/prepare_context.h"

namespace fixpoint {
namespace {

OpDesc Begin(const Op& op, const Argument& x, absl::string_view type) {
  return OpBuilder(type)
      .Input("X", x.name())
      .Output("Out", op.Output("Out")->name())
      .IntAttr("op_role", op.role())
      .Build();
}

OpDesc MakeScale(const Op& op, const Argument& x, float scale, float bias) {
  OpDesc made = Begin(op, x, "scale");
  SetAttr(MakeFloatAttr("scale", scale), &made);
  SetAttr(MakeFloatAttr("bias", bias), &made);
  SetAttr(MakeBoolAttr("bias_after_scale", true), &made);
  return made;
}

// The finite number that a parameter of one element holds; nothing where the result may have other
// dimensions than `other`, or another type.
std::optional<float> ScalarOf(const Tensor& tensor, const Argument& other) {
  const Variable* const variable = other.variable();
  if (tensor.dtype() != VarType::FP32 || tensor.size() != 1 || variable == nullptr ||
      !variable->is_dense_tensor() || variable->tensor()->data_type() != VarType::FP32 ||
      DeclaredDims(other).size() < std::max<size_t>(tensor.dims().size(), 1)) {
    return std::nullopt;
  }
  const float scalar = tensor.data<float>()[0];
  return std::isfinite(scalar) ? std::optional(scalar) : std::nullopt;
}

std::optional<OpDesc> InlineOperand(const Op& op, const EditedParameters& parameters) {
  const bool multiplies = op.type() == "elementwise_mul";
  const bool subtracts = op.type() == "elementwise_sub";
  const Argument* const x = op.Input("X");
  const Argument* const y = op.Input("Y");
  if (x == nullptr || y == nullptr || FindFusedAttribute(op.desc())) return std::nullopt;
  const Tensor* const constant_x = FindConstant(x, parameters);
  const Tensor* const constant_y = FindConstant(y, parameters);
  if ((constant_x != nullptr) == (constant_y != nullptr)) return std::nullopt;
  if (constant_x != nullptr && subtracts) return std::nullopt;
  const Argument& other = constant_x != nullptr ? *y : *x;
  const std::optional<float> scalar =
      ScalarOf(constant_x != nullptr ? *constant_x : *constant_y, other);
  if (!scalar) return std::nullopt;
  return multiplies ? MakeScale(op, other, *scalar, 0)
                    : MakeScale(op, other, 1, subtracts ? -*scalar : *scalar);
}

std::optional<OpDesc> InlineAlpha(const Op& op, const EditedParameters& parameters, Era era) {
  const auto attributes = OpAttributes::Of(op.desc(), era);
  const Argument* const x = op.Input("X");
  const Tensor* const alpha = FindConstant(op.Input("Alpha"), parameters);
  if (!attributes || attributes->String("mode") != "all" || x == nullptr || alpha == nullptr ||
      FindFusedAttribute(op.desc())) {
    return std::nullopt;
  }
  const std::optional<float> scalar = ScalarOf(*alpha, *x);
  if (!scalar) return std::nullopt;
  OpDesc made = Begin(op, *x, "leaky_relu");
  SetAttr(MakeFloatAttr("alpha", *scalar), &made);
  return made;
}

// A dropout at inference that multiplies.
std::optional<OpDesc> InlineDropout(const Op& op, Era era) {
  const auto attributes = OpAttributes::Of(op.desc(), era);
  const Argument* const x = op.Input("X");
  const Argument* const mask = op.Output("Mask");
  if (!attributes || x == nullptr || !attributes->Bool(kIsTest) ||
      attributes->String("dropout_implementation") != "downgrade_in_infer" ||
      (mask != nullptr && mask->value() != nullptr && !IsUnread(*mask->value()))) {
    return std::nullopt;
  }
  return MakeScale(op, *x, static_cast<float>(1 - attributes->Float("dropout_prob")), 0);
}

class InlineScalars final : public StagePass<PrepareContext> {
 public:
  absl::string_view name() const override { return "inline_scalars"; }
  absl::string_view doc() const override {
    return "Makes parameters of one element attributes, of scale and of leaky_relu.";
  }
  std::vector<std::string> Requires() const override { return {"trained_parameters"}; }

  absl::Status RunIn(Program& program, PrepareContext& context) const override {
    Rewriter rewriter(&program, name());
    const Era era = EraOf(program);
    for (const Op& op : program.ops()) {
      if (op.Output("Out") == nullptr) continue;
      const std::optional<OpDesc> inlined = Inline(op, context.parameters, era);
      if (!inlined) continue;
      rewriter.InsertBefore(op, *inlined);
      rewriter.Remove(op);
    }
    return absl::OkStatus();
  }

 private:
  static std::optional<OpDesc> Inline(const Op& op, const EditedParameters& parameters, Era era) {
    if (op.type() == "elementwise_mul" || op.type() == "elementwise_add" ||
        op.type() == "elementwise_sub") {
      return InlineOperand(op, parameters);
    }
    if (op.type() == "prelu") return InlineAlpha(op, parameters, era);
    if (op.type() == "dropout") return InlineDropout(op, era);
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<Pass> MakeInlineScalars() { return std::make_unique<InlineScalars>(); }

}  // namespace fixpoint
