// LSQ's ops: what they compute at a learned range, how the range starts, and their gradients
// against central differences.

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
TEST(LearnedQuantize, RoundsAndClipsAsTheOtherQuantizersDo) {
  const std::string op =
      "fake_quantize_dequantize_lsq(X=x, InScale=s) -> (Out=y, OutScale=[]) {bit_length=4, "
      "is_test=true, round_type=";
  const std::string inputs = "x f32[6] 0.25 0.75 -0.25 -9 9 nan\ns f32[1] 3.5\n";
  EXPECT_EQ(RunOps(op + "1}", inputs), "y f32[6] 0.5 1 -0.5 -3.5 3.5 nan\n");
  EXPECT_EQ(RunOps(op + "0}", inputs), "y f32[6] 0 1 -0 -4 3.5 nan\n");
}

constexpr char kFirstStep[] =
    "fake_quantize_dequantize_lsq(X=x, InScale=s, InInitialized=i) -> (Out=y, OutScale=s, "
    "OutInitialized=i) {bit_length=3}";

// The mean of |x| is 1.5 and the largest code 3: a step of 2 * 1.5 / sqrt(3), three times.
TEST(LearnedQuantize, TheFirstTensorGivesTheFirstRange) {
  EXPECT_EQ(RunOps(kFirstStep, "x f32[2] 1 -2\ns f32[1] 0\ni f32[1] 0\n"),
            "i f32[1] 1\ns f32[1] 5.19615221\ny f32[2] 1.73205078 -1.73205078\n");
  EXPECT_EQ(RunOps(kFirstStep, "x f32[2] 1 -2\ns f32[1] 3\ni f32[1] 1\n"),
            "i f32[1] 1\ns f32[1] 3\ny f32[2] 1 -2\n");
}

TEST(LearnedQuantize, ATensorWithoutARangeIsNotTheFirst) {
  EXPECT_EQ(RunOps(kFirstStep, "x f32[2] 0 0\ns f32[1] 7\ni f32[1] 0\n"),
            "i f32[1] 0\ns f32[1] 0\ny f32[2] 0 0\n");
  EXPECT_EQ(RunOps(kFirstStep, "x f32[0]\ns f32[1] 7\ni f32[1] 0\n"),
            "i f32[1] 0\ns f32[1] 0\ny f32[0] \n");
  EXPECT_EQ(RunOps(kFirstStep, "x f32[2] nan 1\ns f32[1] 7\ni f32[1] 0\n"),
            "i f32[1] 0\ns f32[1] nan\ny f32[2] nan nan\n");
}

// The second channel waits, the third has a range.
TEST(LearnedQuantize, EachChannelBeginsOnItsOwn) {
  EXPECT_EQ(RunOps("fake_channel_wise_quantize_dequantize_lsq(X=x, InScale=s, InInitialized=i) -> "
                   "(Out=y, OutScale=s, OutInitialized=i) {bit_length=2, quant_axis=1}",
                   "x f32[2,3] 1 0 3 -3 0 3\ns f32[3] 0 0 5\ni f32[3] 0 0 1\n"),
            "i f32[3] 1 0 1\ns f32[3] 4 0 5\ny f32[2,3] 0 0 5 -4 0 5\n");
}

TEST(LearnedQuantize, RefusesWhatItCannotCompute) {
  EXPECT_EQ(RunOps("fake_quantize_dequantize_lsq(X=x, InScale=s) -> (Out=y, OutScale=s)",
                   "x f32[1] 1\ns f32[1] 1\n"),
            "block 0, op 0 (fake_quantize_dequantize_lsq): input InInitialized is absent, and "
            "is_test is false; want as many numbers as InScale");
  EXPECT_EQ(RunOps("fake_quantize_dequantize_lsq(X=x, InScale=s) -> (Out=y, OutScale=[]) "
                   "{bit_length=1, is_test=true}",
                   "x f32[1] 1\ns f32[1] 1\n"),
            "block 0, op 0 (fake_quantize_dequantize_lsq): bit_length is 1; want 2 to 16");
  EXPECT_EQ(RunOps(kFirstStep, "x f32[1] 1\ns f32[2] 1 1\ni f32[1] 1\n"),
            "block 0, op 0 (fake_quantize_dequantize_lsq): InScale is [2]; want 1 elements");
}

// A step of 1: inside, round(u) - u of the output's gradient; beyond, the code.
TEST(LearnedQuantize, TheGradientOfTheRangeIsThatOfTheStep) {
  const std::string op =
      "fake_quantize_dequantize_lsq_grad(X=x, OutScale=s, Out@GRAD=dy) -> (X@GRAD=dx, "
      "InScale@GRAD=ds) {bit_length=3";
  // (0.25 * 1 + 3 * 10 - 3 * 100) * sqrt(3 / 4)
  const std::string inputs = "x f32[2,2] 0.75 4 -4 1\ns f32[1] 3\ndy f32[2,2] 1 10 100 1000\n";
  EXPECT_EQ(RunOps(op + "}", inputs), "ds f32[1] -233.610352\ndx f32[2,2] 1 0 0 1000\n");
  // Two elements a sample.
  EXPECT_EQ(RunOps(op + ", per_sample=true}", inputs),
            "ds f32[1] -330.374939\ndx f32[2,2] 1 0 0 1000\n");
}

struct Case {
  int bits;
  int round_type;
  bool per_channel;
  bool per_sample;
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
  int step_count() const { return static_cast<int>(steps_.size()); }

  // What an update of the range by its gradient must be, in the step's gradient: as the step is an
  // n-th of the range, an update of the step by its gradient, scaled by 1 / sqrt(N n).
  double RangeGradient(double step_gradient) const {
    const double sharing = case_.per_channel ? 4 : case_.per_sample ? 3 : kSize;
    return largest_code_ * step_gradient / std::sqrt(sharing * largest_code_);
  }

  // X@GRAD or InScale@GRAD, as the op computes it.
  std::vector<double> Computed(const std::string& gradient) const {
    const Program program = ParsedProgram(absl::StrCat(
        "fake_", case_.per_channel ? "channel_wise_" : "",
        "quantize_dequantize_lsq_grad(X=x, OutScale=s, Out@GRAD=dy) -> (X@GRAD=dx, "
        "InScale@GRAD=ds) {bit_length=",
        case_.bits, ", round_type=", case_.round_type, case_.per_channel ? ", quant_axis=1" : "",
        ", per_sample=", case_.per_sample ? "true" : "false", "}"));
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
      double code = x[i] / steps[c] + std::nearbyint(u) - u;
      if (u <= lowest) code = lowest;
      if (u >= largest_code_) code = largest_code_;
      loss += dy_[i] * code * steps[c];
    }
    return loss;
  }

  const Case case_;
  const double largest_code_;
  std::vector<double> x_;
  std::vector<double> dy_;
  std::vector<double> steps_;
};

class LearnedQuantizeGradient : public testing::TestWithParam<Case> {};

TEST_P(LearnedQuantizeGradient, EqualsCentralDifferencesOfTheSurrogate) {
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
    const double expected = surrogate.RangeGradient(difference / (2 * kShift));
    EXPECT_NEAR(ds[c], expected, kTolerance * (1 + std::fabs(expected))) << "step " << c;
  }
}

INSTANTIATE_TEST_SUITE_P(Lsq, LearnedQuantizeGradient,
                         testing::Values(Case{2, 0, false, false}, Case{2, 1, false, true},
                                         Case{4, 0, false, true}, Case{8, 1, false, false},
                                         Case{4, 1, true, false}, Case{8, 0, true, false}),
                         [](const testing::TestParamInfo<Case>& info) {
                           return absl::StrCat("Bits", info.param.bits,
                                               info.param.round_type == 0 ? "ToEven" : "Away",
                                               info.param.per_channel  ? "PerChannel"
                                               : info.param.per_sample ? "PerSample"
                                                                       : "");
                         });

}  // namespace
}  // namespace fixpoint::reference
