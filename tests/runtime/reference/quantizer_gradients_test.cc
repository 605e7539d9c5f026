// The gradients of quantizers that are texts, as a program computes them, against central
// differences of what they are the gradients of: there rounding adds what it adds at the point
// itself, and what is clipped stays clipped. A gradient that is no derivative is compared with its
// rule.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/quantizer.h"
#include "ops/quantizer_table.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "runtime/random.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::reference {
namespace {

using Numbers = std::vector<double>;
using States = std::map<std::string, double>;

constexpr int kSize = 24;
// How many elements share a range: a weight's, all.
constexpr double kCount = kSize;

QuantSpec SpecOf(const Quantizer& quantizer, int bits) {
  QuantSpec spec;
  spec.set_quantizer(std::string(quantizer.name()));
  spec.set_bits(bits);
  spec.set_signedness(QuantSpec::SIGNED);
  spec.set_granularity(quantizer.granularity());
  spec.set_scheme(quantizer.scheme());
  spec.set_rounding(QuantSpec::HALF_TO_EVEN);
  return spec;
}

// The ops of a quantizer for a weight `x` [kSize], forward and backward.
ProgramDesc OpsOf(const Quantizer& quantizer, const QuantSpec& spec) {
  const QuantizerUse use{spec, SlotRole::WEIGHT, Dims{kSize}, Era::kPaddle2};
  ProgramDesc desc = ParsedProgram("program version=2006002\nblock 0 {\n}\n").Proto();
  BlockDesc& block = *desc.mutable_blocks(0);
  const QuantizerForward forward = quantizer.Forward(use);
  for (const OpDesc& op : forward.ops) *block.add_ops() = op;
  const QuantizerRecipe& recipe = quantizer.recipes().front();
  OpBuilder quantize(recipe.quantize_op);
  quantize.Input("X", forward.quantized).Output("Out", Quantizer::kResult);
  for (const QuantizerState& state : recipe.state) {
    if (!state.input.empty()) quantize.Input(state.input, state.name);
  }
  for (const auto& [slot, name] : forward.inputs) quantize.Input(slot, name);
  quantizer.AddQuantizeAttrs(spec, use.era, quantize);
  *block.add_ops() = quantize.Build();
  for (const OpDesc& op : quantizer.GradientOps(use)) *block.add_ops() = op;
  return desc;
}

// Where the gradients are taken: x [kSize] from -2 to 2, the states, and the gradient g of the
// result.
struct Point {
  Numbers x;
  States states;
  Numbers g;
};

Point PointAt(const States& states) {
  Point point{{}, states, {}};
  const RandomStream random(1, 0, 0);
  for (int i = 0; i < kSize; ++i) {
    point.x.push_back(4 * random.Uniform(i) - 2);
    point.g.push_back(2 * random.Uniform(kSize + i) - 1);
  }
  return point;
}

// What the quantizer's ops give for the gradient of `of`.
Numbers Computed(const std::string& name, int bits, const Point& point, const std::string& of) {
  const QuantizerTable table;
  const Quantizer& quantizer = *table.Find(name);
  auto program = Program::Create(OpsOf(quantizer, SpecOf(quantizer, bits)), "quantizer.txt");
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return {};
  Scope scope;
  scope.Set("x", Tensor::FromValues<double>({kSize}, point.x));
  scope.Set("out@GRAD", Tensor::FromValues<double>({kSize}, point.g));
  for (const auto& [state, value] : point.states) {
    scope.Set(state, Tensor::FromValues<double>({1}, Numbers{value}));
  }
  auto interpreter = Interpreter::Create(*program, &scope, {Precision::kDouble, /*seed=*/0});
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  if (!interpreter.ok()) return {};
  const auto fetched = interpreter->Run({}, {absl::StrCat(of, "@GRAD")}, 0);
  EXPECT_TRUE(fetched.ok()) << fetched.status();
  if (!fetched.ok()) return {};
  const auto values = fetched->front().data<double>();
  return {values.begin(), values.end()};
}

// The result of the surrogate for element i, where it is taken at `at`, and its roundings and its
// clipping are those of `base`.
using Surrogate = std::function<double(const Point& base, const Point& at, int i)>;

double Loss(const Surrogate& surrogate, const Point& base, const Point& at) {
  double loss = 0;
  for (int i = 0; i < kSize; ++i) loss += base.g[i] * surrogate(base, at, i);
  return loss;
}

struct Derived {
  std::string quantizer;
  int bits;
  States states;
  // What the gradients of the states are multiplied by.
  double factor;
  Surrogate surrogate;
};

class DerivedGradient : public testing::TestWithParam<Derived> {};

TEST_P(DerivedGradient, EqualsCentralDifferencesOfTheSurrogate) {
  constexpr double kShift = 1e-6;
  // Steps and zero points are floats in the quantize op.
  constexpr double kTolerance = 1e-5;
  const Derived& derived = GetParam();
  const Point base = PointAt(derived.states);
  const Numbers dx = Computed(derived.quantizer, derived.bits, base, "x");
  ASSERT_EQ(dx.size(), kSize);
  const auto difference = [&](const Point& above, const Point& below) {
    return (Loss(derived.surrogate, base, above) - Loss(derived.surrogate, base, below)) /
           (2 * kShift);
  };
  int inside = 0;
  for (int i = 0; i < kSize; ++i) {
    Point above = base;
    above.x[i] += kShift;
    Point below = base;
    below.x[i] -= kShift;
    EXPECT_NEAR(dx[i], difference(above, below), kTolerance) << "x[" << i << "]";
    inside += dx[i] != 0;
  }
  EXPECT_GT(inside, 0);
  EXPECT_LT(inside, kSize);
  for (const auto& [state, value] : derived.states) {
    Point above = base;
    above.states[state] += kShift;
    Point below = base;
    below.states[state] -= kShift;
    const Numbers dstate = Computed(derived.quantizer, derived.bits, base, state);
    ASSERT_EQ(dstate.size(), 1);
    const double expected = derived.factor * difference(above, below);
    EXPECT_NEAR(dstate[0], expected, kTolerance * (1 + std::fabs(expected))) << state;
  }
}

// The ends of the codes of `bits` signed bits.
double LowestOf(int bits) { return -std::ldexp(1.0, bits - 1); }
double LargestOf(int bits) { return std::ldexp(1.0, bits - 1) - 1; }

// Affine codes of 4 bits with the step and the offset of the lowest code that `of` finds in states.
struct StepAndOffset {
  double step;
  double offset;
};
Surrogate AffineSurrogate(std::function<StepAndOffset(const States&)> of, bool rounds_first) {
  return [=](const Point& base, const Point& at, int i) {
    const double lowest = LowestOf(4);
    const double largest = LargestOf(4);
    const auto [step, offset] = of(base.states);
    const double place = lowest - offset / step;
    const double zero_point = std::nearbyint(place);
    const double u = base.x[i] / step;
    const double code = (rounds_first ? std::nearbyint(u) : u) + zero_point;
    const auto [at_step, at_offset] = of(at.states);
    const double at_zero_point = lowest - at_offset / at_step + (zero_point - place);
    const bool is_inside =
        rounds_first ? code >= lowest && code <= largest : code > lowest && code < largest;
    if (!is_inside) return ((code > 0 ? largest : lowest) - at_zero_point) * at_step;
    return (at.x[i] / at_step + std::nearbyint(u) - u) * at_step;
  };
}

double TqtSurrogate(const Point& base, const Point& at, int i) {
  const auto step = [](double exponent) { return std::exp2(exponent) / (LargestOf(4) + 1); };
  const double log2_threshold = base.states.at("log2_threshold");
  const double rounding = std::ceil(log2_threshold) - log2_threshold;
  const double u = base.x[i] / step(log2_threshold + rounding);
  const double rounded = std::nearbyint(u);
  const double at_step = step(at.states.at("log2_threshold") + rounding);
  if (rounded < LowestOf(4)) return LowestOf(4) * at_step;
  if (rounded > LargestOf(4)) return LargestOf(4) * at_step;
  return (at.x[i] / at_step + rounded - u) * at_step;
}

INSTANTIATE_TEST_SUITE_P(
    Quantizers, DerivedGradient,
    testing::Values(Derived{"trained_min_max",
                            4,
                            {{"min", -0.7}, {"max", 1.4}},
                            15 * std::sqrt(15 / kCount),
                            AffineSurrogate(
                                [](const States& states) {
                                  return StepAndOffset{(states.at("max") - states.at("min")) / 15,
                                                       states.at("min")};
                                },
                                /*rounds_first=*/true)},
                    Derived{"lsq_plus",
                            4,
                            {{"step", 0.15}, {"offset", -0.8}},
                            1 / std::sqrt(15 * kCount),
                            AffineSurrogate(
                                [](const States& states) {
                                  return StepAndOffset{states.at("step"), states.at("offset")};
                                },
                                /*rounds_first=*/false)},
                    Derived{"tqt", 4, {{"log2_threshold", -0.3}}, 1, TqtSurrogate}),
    [](const testing::TestParamInfo<Derived>& info) { return info.param.quantizer; });

// Codes of 4 bits at a range, whose gradients are given: of x inside the codes, and of the range.
struct Given {
  std::string quantizer;
  double range;
  // Of an element inside: its gradient, from that of the result, its value and its dequantized
  // value.
  std::function<double(double g, double x, double dequantized)> of_x;
  // What an element adds to that of the range; of_x is 0 outside.
  std::function<double(double g, double x, double code, double of_x)> of_range;
};

class GivenGradient : public testing::TestWithParam<Given> {};

TEST_P(GivenGradient, FollowsItsRule) {
  constexpr double kTolerance = 1e-6;  // codes are floats in the quantize op
  const Given& given = GetParam();
  const Point point = PointAt({{"range", given.range}});
  const Numbers dx = Computed(given.quantizer, 4, point, "x");
  ASSERT_EQ(dx.size(), kSize);
  const double step = given.range / LargestOf(4);
  double of_range = 0;
  for (int i = 0; i < kSize; ++i) {
    const double u = point.x[i] / step;
    const bool is_inside = u > LowestOf(4) && u < LargestOf(4);
    const double code = std::clamp(std::nearbyint(u), LowestOf(4), LargestOf(4));
    const double expected = is_inside ? given.of_x(point.g[i], point.x[i], code * step) : 0;
    EXPECT_NEAR(dx[i], expected, kTolerance) << "x[" << i << "]";
    of_range += given.of_range(point.g[i], point.x[i], code, is_inside ? expected : 0);
  }
  const double factor = LargestOf(4) * std::sqrt(LargestOf(4) / kCount);
  EXPECT_NEAR(Computed(given.quantizer, 4, point, "range").at(0), factor * of_range,
              kTolerance * (1 + std::fabs(factor * of_range)));
}

constexpr double kRange = 1.3;
// That of the codes, which go one step farther down.
constexpr double kWidth = kRange * 15 / 7;

double Sign(double number) { return number > 0 ? 1 : -1; }

INSTANTIATE_TEST_SUITE_P(
    Quantizers, GivenGradient,
    testing::Values(Given{"ewgs", kRange,
                          [](double g, double x, double dequantized) {
                            return g * (1 + 0.2 * Sign(g) * (x - dequantized) / kWidth);
                          },
                          [](double g, double x, double code, double of_x) {
                            return g * code / 7 - of_x * x / kRange;
                          }},
                    Given{"dampened", kRange,
                          [](double g, double x, double dequantized) {
                            return g + 2 * 0.01 * (x - dequantized);
                          },
                          // As of lsq: the loss of distances takes the codes as constants.
                          [](double g, double x, double code, double of_x) {
                            return g * (of_x == 0 ? code : code - x * 7 / kRange) / 7;
                          }}),
    [](const testing::TestParamInfo<Given>& info) { return info.param.quantizer; });

}  // namespace
}  // namespace fixpoint::reference
