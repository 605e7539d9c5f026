// Activations and their gradients against the same formulas in double.

#include "runtime/kernels/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

using Function = std::function<double(double)>;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double Clip(double x, double low, double high) { return std::min(std::max(x, low), high); }
double NormalBelow(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double GeluInner(double x) { return std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }

struct Case {
  std::string name;
  Activation activation;
  Function value;
  Function slope;  // of x; null: there is none
  // By how much they may be off, in units of float's epsilon of the result, or of 1 where it is
  // smaller and `is_relative` is not set: where terms of about 1 cancel.
  double units;
  bool is_relative = true;
};

using F = ActivationFunction;

// An operation of floats gives half a unit of error; exp, log and tanh 2 to 3 units.
const Case kCases[] = {
    {"Relu",
     {F::kRelu},
     [](double x) { return x > 0 ? x : 0; },
     [](double x) { return x > 0 ? 1 : 0; },
     0},
    {"ReluKeepingNan",
     {F::kReluKeepingNan},
     [](double x) { return x < 0 ? 0 : x; },
     [](double x) { return x > 0 ? 1 : 0; },
     0},
    {"LeakyRelu",
     {F::kLeakyRelu, 0.1f},
     [](double x) { return x >= 0 ? x : 0.1f * x; },
     [](double x) { return x >= 0 ? 1 : 0.1f; },
     0.5},
    {"Elu",
     {F::kElu, 0.7f},
     [](double x) { return x >= 0 ? x : 0.7f * std::expm1(x); },
     nullptr,
     3.5},
    {"Selu",
     {F::kSelu, 1.6f, 1.05f},
     [](double x) { return 1.05f * (x > 0 ? x : 1.6f * std::expm1(x)); },
     nullptr,
     4},
    {"ThresholdedRelu",
     {F::kThresholdedRelu, 1.5f},
     [](double x) { return x > 1.5 ? x : 0; },
     nullptr,
     0},
    {"Clip",
     {F::kClip, -1, 2.5f},
     [](double x) { return Clip(x, -1, 2.5); },
     [](double x) { return x > -1 && x < 2.5 ? 1 : 0; },
     0},
    {"Sigmoid",
     {F::kSigmoid},
     Sigmoid,
     [](double x) { return Sigmoid(x) * Sigmoid(-x); },
     4,
     false},
    {"Tanh",
     {F::kTanh},
     [](double x) { return std::tanh(x); },
     [](double x) { return 1 - std::tanh(x) * std::tanh(x); },
     4,
     false},
    {"HardSigmoid",
     {F::kHardSigmoid, 0.2f, 0.5f},
     [](double x) { return Clip(0.2f * x + 0.5, 0, 1); },
     [](double x) { return 0.2f * x + 0.5 > 0 && 0.2f * x + 0.5 < 1 ? 0.2f : 0; },
     1,
     false},
    {"HardSwish",
     {F::kHardSwish, 6, 6, 3},
     [](double x) { return x * Clip(x + 3, 0, 6) / 6; },
     [](double x) { return x <= -3 ? 0
                           : x < 3 ? (2 * x + 3) / 6
                                   : 1; },
     3,
     false},
    {"Swish",
     {F::kSwish, 1.5f},
     [](double x) { return x * Sigmoid(1.5 * x); },
     [](double x) {
       const double s = Sigmoid(1.5 * x);
       return s + 1.5 * x * s * (1 - s);
     },
     6,
     false},
    {"Gelu",
     {F::kGelu},
     [](double x) { return x * NormalBelow(x); },
     [](double x) { return NormalBelow(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI); },
     6,
     false},
    {"GeluByTanh",
     {F::kGeluByTanh},
     [](double x) { return 0.5 * x * (1 + std::tanh(GeluInner(x))); },
     [](double x) {
       if (std::fabs(x) > 20) return x > 0 ? 1.0 : 0.0;
       const double t = std::tanh(GeluInner(x));
       return 0.5 * (1 + t) +
              0.5 * x * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
     },
     12,
     false},
    {"Softplus",
     {F::kSoftplus, 2, 20},
     [](double x) { return 2 * x > 20 ? x : Softplus(2 * x) / 2; },
     nullptr,
     6},
    {"Softsign", {F::kSoftsign}, [](double x) { return x / (1 + std::fabs(x)); }, nullptr, 1.5},
    {"LogSigmoid", {F::kLogSigmoid}, [](double x) { return -Softplus(-x); }, nullptr, 6},
    {"SoftRelu", {F::kSoftRelu, 4}, [](double x) { return Softplus(Clip(x, -4, 4)); }, nullptr, 6},
    {"Mish",
     {F::kMish, 20},
     [](double x) { return x * std::tanh(x > 20 ? x : Softplus(x)); },
     nullptr,
     10},
    {"Abs",
     {F::kAbs},
     [](double x) { return std::fabs(x); },
     [](double x) { return x > 0   ? 1
                           : x < 0 ? -1
                                   : x; },
     0},
    {"Exp",
     {F::kExp},
     [](double x) { return std::exp(x); },
     [](double x) { return std::exp(x); },
     2.5},
    {"Log", {F::kLog}, [](double x) { return std::log(x); }, [](double x) { return 1 / x; }, 2.5},
    {"Sqrt",
     {F::kSqrt},
     [](double x) { return std::sqrt(x); },
     [](double x) { return 0.5 / std::sqrt(x); },
     1.5},
    {"Square", {F::kSquare}, [](double x) { return x * x; }, [](double x) { return 2 * x; }, 0.5},
    {"Rsqrt", {F::kRsqrt}, [](double x) { return 1 / std::sqrt(x); }, nullptr, 1.5},
    {"Reciprocal", {F::kReciprocal}, [](double x) { return 1 / x; }, nullptr, 0.5},
    {"Pow", {F::kPow, 1.5f}, [](double x) { return std::pow(x, 1.5); }, nullptr, 1},
    {"Sin", {F::kSin}, [](double x) { return std::sin(x); }, nullptr, 1},
    {"Cos", {F::kCos}, [](double x) { return std::cos(x); }, nullptr, 1},
    {"Ceil", {F::kCeil}, [](double x) { return std::ceil(x); }, nullptr, 0},
    {"Floor", {F::kFloor}, [](double x) { return std::floor(x); }, nullptr, 0},
    {"Round", {F::kRound}, [](double x) { return std::round(x); }, nullptr, 0},
    {"Sign", {F::kSign}, [](double x) { return x > 0   ? 1
                                               : x < 0 ? -1
                                                       : x; }, nullptr, 0},
};

std::vector<float> Values() {
  std::vector<float> x = {0.0f,
                          -0.0f,
                          1e-45f,
                          -1e-45f,
                          1e-38f,
                          -1e-38f,
                          1e38f,
                          -1e38f,
                          88.8f,
                          -103.9f,
                          0.49999997f,
                          -0.49999997f,
                          0.5f,
                          -0.5f,
                          1.5f,
                          2.5f,
                          8388607.5f,
                          -8388607.5f,
                          20.0f,
                          -200.0f,
                          3.0f,
                          -3.0f,
                          4194303.75f,
                          1e-20f,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()};
  for (int i = -2000; i <= 2000; ++i) x.push_back(static_cast<float>(i) * 0.0123f);
  for (float value = 1e-18f; value < 1e18f; value *= 1.7f) x.push_back(value);
  return x;
}

class Activations : public testing::TestWithParam<Case> {
 protected:
  void ExpectNear(float actual, double expected, float x) const {
    const Case& c = GetParam();
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << x << " gives " << actual;
      return;
    }
    const float rounded = static_cast<float>(expected);
    if (std::isinf(rounded) || rounded == actual) {
      EXPECT_EQ(actual, rounded) << x;
      return;
    }
    // Below the smallest normal number a unit no longer shrinks; x may multiply one.
    const double smallest = c.is_relative ? FLT_MIN * std::max(1.0f, std::fabs(x)) : 1;
    const double unit = FLT_EPSILON * std::max(std::fabs(expected), smallest);
    EXPECT_NEAR(actual, expected, c.units * unit) << x;
  }
};

TEST_P(Activations, EqualTheFormula) {
  const std::vector<float> x = Values();
  std::vector<float> y = x;
  Activate(GetParam().activation, y, absl::MakeSpan(y));
  for (size_t i = 0; i < x.size(); ++i) ExpectNear(y[i], GetParam().value(x[i]), x[i]);
}

TEST_P(Activations, HaveTheFormulasGradient) {
  const auto source = GradientSourceOf(GetParam().activation.function);
  ASSERT_EQ(source.has_value(), GetParam().slope != nullptr);
  if (!source.has_value()) return;
  std::vector<float> x = Values();
  if (*source == GradientSource::kOutput) {
    // y holds no more than a rounded number says of x; where it is flat or steep that is little.
    x.erase(std::remove_if(x.begin(), x.end(), [](float v) { return !(std::fabs(v) < 80); }),
            x.end());
  }
  std::vector<float> from = x;
  if (*source == GradientSource::kOutput) {
    Activate(GetParam().activation, x, absl::MakeSpan(from));
  }
  std::vector<float> dx(x.size(), 1.0f);
  ActivateBackward(GetParam().activation, from, dx, absl::MakeSpan(dx));
  for (size_t i = 0; i < x.size(); ++i) ExpectNear(dx[i], GetParam().slope(x[i]), x[i]);
}

INSTANTIATE_TEST_SUITE_P(Functions, Activations, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// The number is what any of the instruction sets gave; it changes with the arithmetic alone.
TEST(Activation, GivesTheSameBitsForEveryInstructionSet) {
  uint64_t hash = 0;
  for (const Case& c : kCases) {
    // The expected values use the C library's functions.
    if (c.name == "Pow" || c.name == "Sin" || c.name == "Cos") continue;
    std::vector<float> y = Values();
    Activate(c.activation, y, absl::MakeSpan(y));
    for (const float value : y) {
      uint32_t bits = 0;  // of a NaN, which has a sign of no meaning
      if (!std::isnan(value)) std::memcpy(&bits, &value, sizeof bits);
      hash = (hash ^ bits) * 0x100000001b3;
    }
  }
  EXPECT_EQ(hash, 0xeb4851fb8079634eu);
}

// Whole vectors, a rest, and no elements.
TEST(Activation, TakesAnySize) {
  for (size_t size = 0; size < 70; ++size) {
    std::vector<float> x(size);
    for (size_t i = 0; i < size; ++i) x[i] = static_cast<float>(i) - 30.5f;
    std::vector<float> y(size);
    Activate({ActivationFunction::kExp}, x, absl::MakeSpan(y));
    std::vector<float> one(1);
    for (size_t i = 0; i < size; ++i) {
      Activate({ActivationFunction::kExp}, {x[i]}, absl::MakeSpan(one));
      EXPECT_EQ(y[i], one[0]);
    }
  }
}

TEST(Activation, HasAGradientThatFloatsHoldOfTheLargestNumbers) {
  std::vector<float> dx = {0.25f, -0.5f};
  ActivateBackward({F::kSquare}, {3e38f, 3e38f}, dx, absl::MakeSpan(dx));
  EXPECT_EQ(dx, (std::vector<float>{1.5e38f, -3e38f}));
  dx = {1, 1};
  ActivateBackward({F::kSwish, 1.5f}, {-3e38f, 3e38f}, dx, absl::MakeSpan(dx));
  EXPECT_EQ(dx, (std::vector<float>{0, 1}));
}

TEST(Activation, MultipliesTheGradientThatComesIn) {
  std::vector<float> dx = {2, -3, 5};
  ActivateBackward({ActivationFunction::kRelu}, {1.0f, 1.0f, 0.0f}, dx, absl::MakeSpan(dx));
  EXPECT_EQ(dx, (std::vector<float>{2, -3, 0}));
}

TEST(Activation, OfReluHasItsGradientOfWhatItPassed) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> y = {1, 0, -0.0f, nan, 1e-45f, -2, 7};
  std::vector<uint8_t> passed(y.size());
  MarkPassed(y, absl::MakeSpan(passed));
  EXPECT_EQ(passed, (std::vector<uint8_t>{1, 0, 0, 0, 1, 0, 1}));
  std::vector<float> dx = {2, -3, 5, 7, -11, 13, 17};
  PassBackward(passed, dx, absl::MakeSpan(dx));
  EXPECT_EQ(dx, (std::vector<float>{2, -0.0f, 0, 0, -11, 0, 17}));
}

}  // namespace
}  // namespace fixpoint::kernels
