// The updates of frozen_oscillations, as its ops compute them, against the algorithm (Nagel et al.
// 2022, arXiv 2203.11086, algorithm 1) in plain loops.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ops/quantizer.h"
#include "ops/quantizer_table.h"
#include "proto/program/program.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::reference {
namespace {

using Numbers = std::vector<float>;

constexpr int kSize = 4;
constexpr float kRate = 0.25f;
constexpr float kThreshold = 0.5f;
constexpr float kRange = 3;  // a step of 1 at 3 bits

// Weights that stand, that jump between two codes at every step, that drift, and that turn back
// now and then.
Numbers WeightsOf(int step) {
  return {0.2f, step % 2 == 0 ? 0.4f : 0.6f, -2 + 0.4f * static_cast<float>(step),
          step % 5 < 3 ? 0.0f : 1.0f};
}

struct Weight {
  float code = 0;
  float direction = 0;
  float frequency = 0;
  float average = 0;
  bool is_fixed = false;

  void Update(float value) {
    const float now = std::round(std::clamp(value, -4.0f, 3.0f));
    const bool turns_back = now != code && (now > code ? 1 : -1) == -direction;
    frequency = kRate * (turns_back ? 1 : 0) + (1 - kRate) * frequency;
    if (!is_fixed) average = kRate * now + (1 - kRate) * average;
    if (frequency > kThreshold) is_fixed = true;
    if (now != code) direction = now > code ? 1 : -1;
    code = now;
  }
};

TEST(FrozenOscillations, FixesWeightsThatTurnBackTooOften) {
  const QuantizerTable table;
  const Quantizer& quantizer = *table.Find("frozen_oscillations");
  QuantSpec spec;
  spec.set_quantizer("frozen_oscillations");
  spec.set_bits(3);
  spec.set_signedness(QuantSpec::SIGNED);
  spec.set_granularity(QuantSpec::PER_TENSOR);
  spec.set_scheme(QuantSpec::SYMMETRIC);
  spec.set_rounding(QuantSpec::HALF_TO_EVEN);
  (*spec.mutable_parameters())["rate"] = kRate;
  (*spec.mutable_parameters())["threshold"] = kThreshold;
  const QuantizerUse use{spec, SlotRole::WEIGHT, Dims{kSize}, Era::kPaddle2};
  ProgramDesc desc = ParsedProgram("program version=2006002\nblock 0 {\n}\n").Proto();
  for (const QuantizerState& state : quantizer.recipes().front().state) {
    VarDesc& variable = *desc.mutable_blocks(0)->add_vars();
    variable = MakeTensorVar(state.name, VarType::FP32, {-1});
    variable.set_persistable(true);
  }
  for (const OpDesc& op : quantizer.UpdateOps(use)) *desc.mutable_blocks(0)->add_ops() = op;
  for (const OpDesc& op : quantizer.Forward(use).ops) *desc.mutable_blocks(0)->add_ops() = op;
  const auto program = Program::Create(desc, "update.txt");
  ASSERT_TRUE(program.ok()) << program.status();

  Scope scope;
  for (const QuantizerState& state : quantizer.recipes().front().state) {
    const bool is_one = state.extent == QuantizerState::Extent::kOne;
    scope.Set(state.name,
              Tensor::FromValues<float>({is_one ? 1 : kSize}, Numbers(is_one ? 1 : kSize, 0.0f)));
  }
  scope.Set("range", Tensor::FromValues<float>({1}, Numbers{kRange}));
  scope.Set("range@GRAD", Tensor::FromValues<float>({1}, Numbers{0}));
  scope.Set("learning_rate", Tensor::FromValues<float>({1}, Numbers{0}));
  auto interpreter = Interpreter::Create(*program, &scope);
  ASSERT_TRUE(interpreter.ok()) << interpreter.status();

  std::vector<Weight> weights(kSize);
  for (int step = 0; step < 12; ++step) {
    const Numbers x = WeightsOf(step);
    const Tensor fed = Tensor::FromValues<float>({kSize}, x);
    const auto fetched = interpreter->Run(
        {{"x", &fed}},
        {"code", "direction", "frequency", "average", "fixed", quantizer.Forward(use).quantized},
        step);
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    for (int i = 0; i < kSize; ++i) {
      Weight& weight = weights[i];
      weight.Update(x[i]);
      const auto at = [&](int state) { return (*fetched)[state].data<float>()[i]; };
      EXPECT_EQ(at(0), weight.code) << i << ", step " << step;
      EXPECT_EQ(at(1), weight.direction) << i << ", step " << step;
      EXPECT_NEAR(at(2), weight.frequency, 1e-6) << i << ", step " << step;
      EXPECT_NEAR(at(3), weight.average, 1e-6) << i << ", step " << step;
      EXPECT_EQ(at(4), weight.is_fixed ? 1 : 0) << i << ", step " << step;
      EXPECT_NEAR(at(5), weight.is_fixed ? std::round(weight.average) : x[i], 1e-6)
          << i << ", step " << step;
    }
  }
  EXPECT_FALSE(weights[0].is_fixed);
  EXPECT_TRUE(weights[1].is_fixed);
  EXPECT_FALSE(weights[2].is_fixed);
  EXPECT_FALSE(weights[3].is_fixed);
}

}  // namespace
}  // namespace fixpoint::reference
