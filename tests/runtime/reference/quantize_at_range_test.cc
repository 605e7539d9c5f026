// Quantization at a given range: what it computes, and its gradients against central differences
// of each surrogate.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/random.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/runtime/reference/run_ops.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::reference {
namespace {

// A step of 0.5, and the codes -7 to 7 or, to even, -8 to 7.
TEST(QuantizeAtRange, RoundsAndClipsAsTheOtherQuantizersDo) {
  const std::string op =
      "fake_quantize_dequantize_at_range(X=x, InScale=s) -> (Out=y) {bit_length=4, round_type=";
  const std::string inputs = "x f32[6] 0.25 0.75 -0.25 -9 9 nan\ns f32[1] 3.5\n";
  EXPECT_EQ(RunOps(op + "1}", inputs), "y f32[6] 0.5 1 -0.5 -3.5 3.5 nan\n");
  EXPECT_EQ(RunOps(op + "0}", inputs), "y f32[6] 0 1 -0 -4 3.5 nan\n");
}

TEST(QuantizeAtRange, EachChannelHasItsRange) {
  EXPECT_EQ(RunOps("fake_quantize_dequantize_at_range(X=x, InScale=s) -> (Out=y) {bit_length=2, "
                   "quant_axis=1}",
                   "x f32[2,3] 1 0 3 -3 0 3\ns f32[3] 4 0 5\n"),
            "y f32[2,3] 0 0 5 -4 0 5\n");
}

TEST(QuantizeAtRange, RefusesWhatItCannotCompute) {
  const std::string op = "fake_quantize_dequantize_at_range(X=x, InScale=s) -> (Out=y)";
  const std::string at = "block 0, op 0 (fake_quantize_dequantize_at_range): ";
  EXPECT_EQ(RunOps(op + " {bit_length=1}", "x f32[1] 1\ns f32[1] 1\n"),
            at + "bit_length is 1; want 2 to 16");
  EXPECT_EQ(RunOps(op, "x f32[1] 1\ns f32[2] 1 1\n"), at + "InScale is [2]; want 1 elements");
  EXPECT_EQ(RunOps(op + " {quant_axis=1}", "x f32[1] 1\ns f32[1] 1\n"),
            at + "quant_axis is 1 and X is [1]; want -1 or an axis of X");
  EXPECT_EQ(RunOps("fake_quantize_dequantize_at_range_grad(X=x, InScale=s, Out@GRAD=x) -> "
                   "(X@GRAD=dx, InScale@GRAD=ds) {surrogate=\"tanh\"}",
                   "x f32[1] 1\ns f32[1] 1\n"),
            "block 0, op 0 (fake_quantize_dequantize_at_range_grad): surrogate is \"tanh\"; want "
            "clamp_then_round, round_then_clamp or clamp");
}

// A range of 3 and a step of 1. Inside, the step has round(u) - u of the output's gradient; beyond,
// the code. 3.25 is beyond 3, but is rounded to it.
TEST(QuantizeAtRange, TheSurrogateSaysWhatTheRangeHas) {
  const auto gradients = [](const std::string& surrogate) {
    return RunOps(
        "fake_quantize_dequantize_at_range_grad(X=x, InScale=s, Out@GRAD=dy) -> (X@GRAD=dx, "
        "InScale@GRAD=ds) {bit_length=3, surrogate=\"" +
            surrogate + "\"}",
        "x f32[2,2] 0.75 4 -4 3.25\ns f32[1] 3\ndy f32[2,2] 1 10 100 1000\n");
  };
  // (0.25 * 1 + 3 * 10 - 3 * 100 + 3 * 1000) / 3
  EXPECT_EQ(gradients("clamp_then_round"), "ds f32[1] 910.083313\ndx f32[2,2] 1 0 0 0\n");
  // (0.25 * 1 + 3 * 10 - 3 * 100 - 0.25 * 1000) / 3
  EXPECT_EQ(gradients("round_then_clamp"), "ds f32[1] -173.25\ndx f32[2,2] 1 0 0 1000\n");
  // (3 * 10 - 3 * 100 + 3 * 1000) / 3
  EXPECT_EQ(gradients("clamp"), "ds f32[1] 910\ndx f32[2,2] 1 0 0 0\n");
}

struct Case {
  int bits;
  int round_type;
  bool per_channel;
  std::string surrogate;
};

// x [4,3], its ranges, and the gradient of the loss sum(dy * quantized x).
class Surrogate {
 public:
  explicit Surrogate(const Case& test_case)
      : case_(test_case),
        largest_code_(std::ldexp(1.0, test_case.bits - 1) - 1),
        steps_(test_case.per_channel ? 3 : 1) {
    const RandomStream random(1, 0, 0);
    for (int i = 0; i < kSize; ++i) {
      x_.push_back(4 * random.Uniform(i) - 2);
      dy_.push_back(2 * random.Uniform(kSize + i) - 1);
    }
    for (size_t c = 0; c < steps_.size(); ++c) steps_[c] = (1.2 + 0.2 * c) / largest_code_;
  }

  // The loss where rounding adds what it adds at x and the steps, and what is clipped stays
  // clipped; and where one number is shifted.
  double LossWithXShifted(int i, double shift) const {
    std::vector<double> x = x_;
    x[i] += shift;
    return Loss(x, steps_);
  }
  double LossWithStepShifted(int c, double shift) const {
    std::vector<double> steps = steps_;
    steps[c] += shift;
    return Loss(x_, steps);
  }
  double largest_code() const { return largest_code_; }
  int step_count() const { return static_cast<int>(steps_.size()); }

  // X@GRAD or InScale@GRAD, as the op computes it.
  std::vector<double> Computed(const std::string& gradient) const {
    const Program program = ParsedProgram(absl::StrCat(
        "fake_quantize_dequantize_at_range_grad(X=x, InScale=s, Out@GRAD=dy) -> (X@GRAD=dx, "
        "InScale@GRAD=ds) {bit_length=",
        case_.bits, ", round_type=", case_.round_type, ", quant_axis=", case_.per_channel ? 1 : -1,
        ", surrogate=\"", case_.surrogate, "\"}"));
    std::vector<double> ranges = steps_;
    for (double& range : ranges) range *= largest_code_;
    Scope scope;
    scope.Set("x", Tensor::FromValues<double>({4, 3}, x_));
    scope.Set("dy", Tensor::FromValues<double>({4, 3}, dy_));
    scope.Set("s", Tensor::FromValues<double>({step_count()}, ranges));
    auto interpreter = Interpreter::Create(program, &scope, {Precision::kDouble, /*seed=*/0});
    EXPECT_TRUE(interpreter.ok()) << interpreter.status();
    if (!interpreter.ok()) return {};
    const auto fetched = interpreter->Run({}, {gradient}, 0);
    EXPECT_TRUE(fetched.ok()) << fetched.status();
    if (!fetched.ok()) return {};
    const auto values = fetched->front().data<double>();
    return {values.begin(), values.end()};
  }

  static constexpr int kSize = 12;

 private:
  double Loss(const std::vector<double>& x, const std::vector<double>& steps) const {
    const double lowest = case_.round_type == 0 ? -largest_code_ - 1 : -largest_code_;
    double loss = 0;
    for (int i = 0; i < kSize; ++i) {
      const int c = case_.per_channel ? i % 3 : 0;
      const double u = x_[i] / steps_[c];
      const double rounded = case_.round_type == 0 ? std::nearbyint(u) : std::round(u);
      double result = (x[i] / steps[c] + rounded - u) * steps[c];
      // Clamping alone: what rounding adds does not depend on the step.
      if (case_.surrogate == "clamp") result = x[i] + (rounded - u) * steps_[c];
      const double bounded = case_.surrogate == "round_then_clamp" ? rounded : u;
      const bool is_inside = case_.surrogate == "round_then_clamp"
                                 ? bounded >= lowest && bounded <= largest_code_
                                 : bounded > lowest && bounded < largest_code_;
      if (!is_inside) result = (bounded < 0 ? lowest : largest_code_) * steps[c];
      loss += dy_[i] * result;
    }
    return loss;
  }

  const Case case_;
  const double largest_code_;
  std::vector<double> x_;
  std::vector<double> dy_;
  std::vector<double> steps_;
};

class QuantizeAtRangeGradient : public testing::TestWithParam<Case> {};

TEST_P(QuantizeAtRangeGradient, EqualsCentralDifferencesOfTheSurrogate) {
  constexpr double kShift = 1e-5;
  constexpr double kTolerance = 1e-8;
  const Surrogate surrogate(GetParam());
  const std::vector<double> dx = surrogate.Computed("dx");
  ASSERT_EQ(dx.size(), Surrogate::kSize);
  for (int i = 0; i < Surrogate::kSize; ++i) {
    const double difference =
        surrogate.LossWithXShifted(i, kShift) - surrogate.LossWithXShifted(i, -kShift);
    EXPECT_NEAR(dx[i], difference / (2 * kShift), kTolerance) << "x[" << i << "]";
  }
  const std::vector<double> ds = surrogate.Computed("ds");
  ASSERT_EQ(ds.size(), surrogate.step_count());
  for (int c = 0; c < surrogate.step_count(); ++c) {
    const double difference =
        surrogate.LossWithStepShifted(c, kShift) - surrogate.LossWithStepShifted(c, -kShift);
    const double expected = difference / (2 * kShift) / surrogate.largest_code();
    EXPECT_NEAR(ds[c], expected, kTolerance * (1 + std::fabs(expected))) << "step " << c;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Surrogates, QuantizeAtRangeGradient,
    testing::Values(Case{2, 0, false, "clamp_then_round"}, Case{2, 1, false, "round_then_clamp"},
                    Case{4, 0, false, "round_then_clamp"}, Case{8, 1, false, "clamp_then_round"},
                    Case{4, 1, true, "clamp_then_round"}, Case{8, 0, true, "round_then_clamp"},
                    Case{3, 1, true, "clamp"}, Case{4, 0, false, "clamp"}),
    [](const testing::TestParamInfo<Case>& info) {
      return absl::StrCat(info.param.surrogate, "_", info.param.bits,
                          info.param.round_type == 0 ? "ToEven" : "Away",
                          info.param.per_channel ? "PerChannel" : "");
    });

}  // namespace
}  // namespace fixpoint::reference
