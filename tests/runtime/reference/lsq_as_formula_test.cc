// LSQ as ops that have gradients, whose gradient AppendBackward derives, against LSQ's own ops with
// their own gradient; all in double.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/formula_gradient.h"
#include "ops/quant_math.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/program/op_builder.h"
#include "runtime/reference/interpreter.h"
#include "tests/runtime/reference/differentiated_program.h"
#include "tests/runtime/reference/digits_training.h"

namespace fixpoint::reference {
namespace {

constexpr int64_t kPaddle2 = 2006002;

// Three bits, of codes -3 to 3; 12 elements, so that the gradient of the range is scaled by
// 3^2 / sqrt(12 * 3) = 1.5. What is a constant for the gradient says stop_gradient.
TEST(LsqAsFormula, HasTheValuesAndGradientsOfTheOp) {
  const std::string inputs = "range f64[1] 1.25\none f64[1] 1\nn f64[1] 3\n";
  const DifferentiatedProgram op(R"(
    var x f32[4,3] persistable
    var range f32[1] persistable
    var one f32[1] stop_gradient
    fake_quantize_dequantize_lsq(X=x, InScale=range, InInitialized=one) -> (Out=out,
      OutScale=range.out, OutInitialized=one.out) {bit_length=3}
  )",
                                 inputs, kPaddle2, {});
  const DifferentiatedProgram formula(R"(
    var x f32[4,3] persistable
    var range f32[1] persistable
    var n f32[1] stop_gradient
    var known_range f32[1] stop_gradient
    var rounding f32[4,3] stop_gradient
    assign(X=range) -> (Out=known_range)
    elementwise_sub(X=range, Y=known_range) -> (Out=zero)
    scale(X=zero) -> (Out=scaled) {scale=1.5}
    elementwise_add(X=known_range, Y=scaled) -> (Out=scaled_range)
    elementwise_div(X=scaled_range, Y=n) -> (Out=step)
    elementwise_div(X=x, Y=step) -> (Out=u)
    clip(X=u) -> (Out=clipped) {min=-3.0, max=3.0}
    round(X=clipped) -> (Out=rounded)
    elementwise_sub(X=rounded, Y=clipped) -> (Out=rounding)
    elementwise_add(X=clipped, Y=rounding) -> (Out=code)
    elementwise_mul(X=code, Y=step) -> (Out=out)
  )",
                                      inputs, kPaddle2, {});
  EXPECT_NEAR(op.LossAt("x", 0, 0), formula.LossAt("x", 0, 0), 1e-7) << "the op's codes are floats";
  for (const std::string input : {"x", "range"}) {
    const std::vector<double> of_op = op.GradientOf(input);
    const std::vector<double> of_formula = formula.GradientOf(input);
    ASSERT_EQ(of_op.size(), of_formula.size());
    for (size_t i = 0; i < of_op.size(); ++i) {
      EXPECT_NEAR(of_op[i], of_formula[i], 1e-14) << input << "[" << i << "]";
    }
  }
}

// lsq, but that its gradient is that of a formula.
class LsqByFormula final : public Quantizer {
 public:
  absl::string_view name() const override { return "lsq_by_formula"; }
  absl::string_view doc() const override { return "lsq whose gradient is derived."; }
  bool is_dynamic() const override { return false; }
  absl::Span<const QuantizerParameter> parameters() const override { return lsq_.parameters(); }
  absl::Span<const QuantizerRecipe> recipes() const override { return lsq_.recipes(); }
  void AddQuantizeAttrs(const QuantSpec& spec, Era era, OpBuilder& op) const override {
    lsq_.AddQuantizeAttrs(spec, era, op);
  }
  void AddDequantizeAttrs(const QuantSpec&, Era, OpBuilder&) const override {}
  double InitialValue(const QuantizerState& state, const QuantSpec& spec) const override {
    return lsq_.InitialValue(state, spec);
  }
  std::vector<OpDesc> UpdateOps(const QuantSpec& spec, Era era) const override {
    return lsq_.UpdateOps(spec, era);
  }
  float Observe(const QuantSpec& spec, absl::Span<const float> values,
                absl::Span<const absl::Span<float>> state, int64_t step) const override {
    return lsq_.Observe(spec, values, state, step);
  }

  std::vector<OpDesc> GradientOps(const QuantSpec& spec, SlotRole::Role role,
                                  Era era) const override {
    const float n = static_cast<float>(LargestCode(BitLength(spec)));
    Formula formula;
    formula.result = "out";
    formula.inputs = {kValue, "scale"};
    formula.constants = {"gradient_scale", "range", "rounding"};
    std::vector<OpDesc>& ops = formula.ops;
    const auto unary = [&ops](const char* type, const char* x, const char* out) -> OpDesc& {
      return ops.emplace_back(OpBuilder(type).Input("X", x).Output("Out", out).Build());
    };
    const auto binary = [&ops](const char* type, const char* x, const char* y, const char* out) {
      ops.push_back(OpBuilder(type).Input("X", x).Input("Y", y).Output("Out", out).Build());
    };
    const auto set = [](OpDesc& op, const char* attr, float value) {
      *op.add_attrs() = MakeFloatAttr(attr, value);
    };
    // n^2 / sqrt(N n), N counted as a sum of ones.
    unary("fill_zeros_like", kValue, "zeros");
    set(unary("scale", "zeros", "ones"), "bias", 1);
    if (role == SlotRole::ACTIVATION) {
      *unary("reduce_mean", "ones", "sample").add_attrs() = MakeIntsAttr("dim", {0});
    } else {
      unary("assign", "ones", "sample");
    }
    *unary("reduce_sum", "sample", "count").add_attrs() = MakeBoolAttr("reduce_all", true);
    set(unary("scale", "count", "share"), "scale", n);
    unary("sqrt", "share", "root");
    unary("fill_zeros_like", "root", "zero");
    set(unary("scale", "zero", "squared_n"), "bias", n * n);
    binary("elementwise_div", "squared_n", "root", "gradient_scale");
    // The range, with that as its gradient.
    unary("assign", "scale", "range");
    binary("elementwise_sub", "scale", "range", "difference");
    binary("elementwise_mul", "difference", "gradient_scale", "scaled_difference");
    binary("elementwise_add", "range", "scaled_difference", "scaled_range");
    // Quantization.
    binary("elementwise_div", "x", "scaled_range", "share_of_range");
    set(unary("scale", "share_of_range", "u"), "scale", n);
    OpDesc& clip = unary("clip", "u", "clipped");
    set(clip, "min", -n - 1);
    set(clip, "max", n);
    unary("round", "clipped", "rounded");
    binary("elementwise_sub", "rounded", "clipped", "rounding");
    binary("elementwise_add", "clipped", "rounding", "code");
    binary("elementwise_mul", "code", "scaled_range", "ranges");
    unary("fill_zeros_like", "share", "nothing");
    set(unary("scale", "nothing", "n"), "bias", n);
    binary("elementwise_div", "ranges", "n", "out");
    return GradientOpsOf(formula, era);
  }

 private:
  const QuantizerTable table_;
  const Quantizer& lsq_ = *table_.Find("lsq");
};

TEST(LsqAsFormula, TrainsWeightsAndRangesAsTheOpDoes) {
  QuantizerTable quantizers;
  ASSERT_TRUE(quantizers.Add(std::make_unique<LsqByFormula>()).ok());
  DigitsOptions options;
  options.quantizers = &quantizers;
  options.precision = Precision::kDouble;
  std::vector<DigitsTraining> trainings;
  for (const char* quantizer : {"lsq", "lsq_by_formula"}) {
    QuantConfig config;
    config.set_target("onednn_int8");
    for (QuantSpec* spec : {config.mutable_weights(), config.mutable_activations()}) {
      spec->set_quantizer(quantizer);
      spec->set_form(QuantSpec::FUSED);
      spec->set_bits(4);
    }
    trainings.emplace_back(config, options).Train(10);
  }
  std::vector<std::string> names = trainings[0].NamesWith("@scale");
  const std::vector<std::string> weights = trainings[0].NamesWith(".w_0");
  names.insert(names.end(), weights.begin(), weights.end());
  ASSERT_EQ(names.size(), 6);
  for (const std::string& name : names) {
    const std::vector<double> by_op = trainings[0].Values(name);
    const std::vector<double> by_formula = trainings[1].Values(name);
    ASSERT_EQ(by_op.size(), by_formula.size());
    for (size_t i = 0; i < by_op.size(); ++i) {
      ASSERT_NEAR(by_op[i], by_formula[i], 1e-12 * (1 + std::fabs(by_op[i])))
          << name << "[" << i << "]";
    }
  }
}

}  // namespace
}  // namespace fixpoint::reference
