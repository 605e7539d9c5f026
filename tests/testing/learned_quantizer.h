// A user's own quantizer whose scale is trained, by ops of its own.

#ifndef FIXPOINT_TESTS_TESTING_LEARNED_QUANTIZER_H_
#define FIXPOINT_TESTS_TESTING_LEARNED_QUANTIZER_H_

#include <vector>

#include "ops/quantizer.h"
#include "ops/quantizers/abs_max_attrs.h"
#include "proto/program/op_builder.h"

namespace fixpoint {

// A range that gradient descent with a momentum finds, and that stays positive.
class LearnedQuantizer : public Quantizer {
 public:
  absl::string_view name() const override { return "learned"; }
  absl::string_view doc() const override { return "A range that gradient descent finds."; }
  bool is_dynamic() const override { return false; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }

  void AddQuantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    AddSymmetricQuantizeAttrs(spec, op);
  }
  void AddDequantizeAttrs(const QuantSpec&, Era, OpBuilder&) const override {}
  double InitialValue(const QuantizerState& state, const QuantSpec&) const override {
    return state.is_scale ? 1 : 0;
  }
  std::vector<OpDesc> GradientOps(const QuantizerUse&) const override {
    return {OpBuilder("users_fake_quantize_learned_grad")
                .Input("X", kValue)
                .Input("Scale", "scale")
                .Input("Out@GRAD", kResultGradient)
                .Output("X@GRAD", kValueGradient)
                .Output("Scale@GRAD", "scale@GRAD")
                .Build()};
  }
  std::vector<OpDesc> UpdateOps(const QuantizerUse&) const override {
    return {OpBuilder("momentum")
                .Input("Grad", "scale@GRAD")
                .Input("LearningRate", kLearningRate)
                .Input("Param", "scale")
                .Input("Velocity", "velocity")
                .Output("ParamOut", "scale")
                .Output("VelocityOut", "velocity")
                .FloatAttr("mu", 0.9f)
                .Build(),
            OpBuilder("clip")
                .Input("X", "scale")
                .Output("Out", "scale")
                .FloatAttr("min", 0.001f)
                .FloatAttr("max", 1000)
                .Build()};
  }
  float Observe(const QuantSpec&, absl::Span<const float>,
                absl::Span<const absl::Span<float>> state, int64_t) const override {
    return state[0][0];
  }

 private:
  static std::vector<QuantizerRecipe> Recipes() {
    QuantizerRecipe recipe;
    recipe.form = QuantSpec::FUSED;
    recipe.quantize_op = "users_fake_quantize_learned";
    recipe.reference_runs_it = false;
    QuantizerState scale;
    scale.name = "scale";
    scale.input = "Scale";
    scale.is_scale = true;
    scale.is_trained = true;
    QuantizerState velocity;
    velocity.name = "velocity";
    velocity.training_only = true;
    recipe.scale_output = "";
    recipe.scale_input = "Scale";
    recipe.state = {scale, velocity};
    return {recipe};
  }

  const std::vector<QuantizerRecipe> recipes_ = Recipes();
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_LEARNED_QUANTIZER_H_
