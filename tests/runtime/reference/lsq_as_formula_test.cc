// LSQ as ops that have gradients, whose gradient AppendBackward derives, against the op that
// quantizes at a range, with its own gradient; all in double.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "ops/quantizers/text_quantizer.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/quant_spec.pb.h"
#include "runtime/reference/interpreter.h"
#include "tests/runtime/reference/differentiated_program.h"
#include "tests/runtime/reference/digits_training.h"

namespace fixpoint::reference {
namespace {

constexpr int64_t kPaddle2 = 2006002;

// Three bits, of codes -3 to 3. What is a constant for the gradient says stop_gradient.
TEST(LsqAsFormula, HasTheValuesAndGradientsOfTheOp) {
  const std::string inputs = "range f64[1] 1.25\nn f64[1] 3\n";
  const DifferentiatedProgram op(R"(
    var x f32[4,3] persistable
    var range f32[1] persistable
    fake_quantize_dequantize_at_range(X=x, InScale=range) -> (Out=out) {bit_length=3}
  )",
                                 inputs, kPaddle2, {});
  const DifferentiatedProgram formula(R"(
    var x f32[4,3] persistable
    var range f32[1] persistable
    var n f32[1] stop_gradient
    var rounding f32[4,3] stop_gradient
    elementwise_div(X=range, Y=n) -> (Out=step)
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

// lsq, with a gradient that is derived from the formula itself.
constexpr char kLsqByFormula[] = R"(
quantizer lsq_by_formula "lsq, by its formula."
settings:
  number() -> (Out=momentum) {default=0.9, min=0.0, max=1.0, doc="momentum"}
states:
  number_per_range() -> (Out=range) {trained=true}
  number_per_range() -> (Out=velocity)
initial:
  abs(X=x) -> (Out=size)
  reduce_mean(X=size) -> (Out=mean)
  sqrt(X=largest) -> (Out=root)
  elementwise_mul(X=mean, Y=root) -> (Out=half)
  scale(X=half) -> (Out=range) {scale=2.0}
forward:
  fake_quantize_dequantize_at_range(X=x, InScale=range) -> (Out=out)
surrogate:
  elementwise_div(X=largest, Y=count) -> (Out=share)
  sqrt(X=share) -> (Out=root)
  elementwise_mul(X=root, Y=largest) -> (Out=factor)
  scale_gradient(X=range, Factor=factor) -> (Out=scaled)
  elementwise_div(X=scaled, Y=largest) -> (Out=step)
  elementwise_div(X=x, Y=step) -> (Out=u)
  clip(X=u) -> (Out=clipped) {min="$lowest", max="$largest"}
  round(X=clipped) -> (Out=code) {straight_through=true}
  elementwise_mul(X=code, Y=step) -> (Out=out)
update:
  scale(X=range) -> (Out=least) {scale=0.5, bias=1e-20}
  momentum(Param=range, Grad=range@GRAD, Velocity=velocity, LearningRate=learning_rate) -> (
      ParamOut=range, VelocityOut=velocity) {mu="$momentum"}
  elementwise_max(X=range, Y=least) -> (Out=range)
)";

TEST(LsqAsFormula, TrainsWeightsAndRangesAsTheOpDoes) {
  QuantizerTable quantizers;
  auto read = ReadQuantizers(kLsqByFormula, "lsq_by_formula.txt");
  ASSERT_TRUE(read.ok()) << read.status();
  for (std::unique_ptr<Quantizer>& quantizer : *read) {
    ASSERT_TRUE(quantizers.Add(std::move(quantizer)).ok());
  }
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
