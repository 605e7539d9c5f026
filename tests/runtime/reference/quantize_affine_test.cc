// Quantization with a step and a zero point that are given: what it computes, and its gradients
// against central differences of each surrogate.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
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

constexpr char kOp[] =
    "fake_quantize_dequantize_affine(X=x, InScale=s, InZeroPoint=z) -> (Out=y) {bit_length=3, "
    "unsigned_codes=true, round_type=";

// A step of 0.5, the zero point 2 and the codes 0 to 7: floats from -1 to 2.5. Ties are those of x.
TEST(QuantizeAffine, RoundsAndClipsToItsCodes) {
  const std::string inputs = "x f32[6] 0.25 0.75 -0.25 -9 9 nan\ns f32[1] 0.5\nz f32[1] 2\n";
  EXPECT_EQ(RunOps(absl::StrCat(kOp, "1}"), inputs), "y f32[6] 0.5 1 -0.5 -1 2.5 0\n");
  EXPECT_EQ(RunOps(absl::StrCat(kOp, "0}"), inputs), "y f32[6] 0 1 0 -1 2.5 0\n");
}

TEST(QuantizeAffine, RefusesWhatItCannotCompute) {
  const std::string at = "block 0, op 0 (fake_quantize_dequantize_affine): ";
  for (const char* zero_point : {"8", "-1", "2.5", "nan"}) {
    EXPECT_EQ(RunOps(absl::StrCat(kOp, "0}"),
                     absl::StrCat("x f32[1] 1\ns f32[1] 1\nz f32[1] ", zero_point, "\n")),
              absl::StrCat(at, "the zero point is ", zero_point, "; want a code, 0 to 7"));
  }
  EXPECT_EQ(RunOps(absl::StrCat(kOp, "0}"), "x f32[1] 1\ns f32[2] 1 1\nz f32[1] 1\n"),
            at + "InScale is [2]; want 1 elements");
}

// The codes less the zero point go from -2 to 5, and the step is 1. 5.25 is above 5, but is rounded
// to it.
TEST(QuantizeAffine, TheSurrogateSaysWhatStepAndZeroPointHave) {
  const auto gradients = [](const std::string& surrogate) {
    return RunOps(
        absl::StrCat("fake_quantize_dequantize_affine_grad(X=x, InScale=s, InZeroPoint=z, "
                     "Out@GRAD=dy) -> (X@GRAD=dx, InScale@GRAD=ds, InZeroPoint@GRAD=dz) "
                     "{bit_length=3, unsigned_codes=true, surrogate=\"",
                     surrogate, "\"}"),
        "x f32[4] 0.75 6 -4 5.25\ns f32[1] 1\nz f32[1] 2\ndy f32[4] 1 10 100 1000\n");
  };
  // 0.25 * 1 + 5 * 10 - 2 * 100 + 5 * 1000
  EXPECT_EQ(gradients("clamp_then_round"),
            "ds f32[1] 4850.25\ndx f32[4] 1 0 0 0\ndz f32[1] -1110\n");
  // 0.25 * 1 + 5 * 10 - 2 * 100 - 0.25 * 1000
  EXPECT_EQ(gradients("round_then_clamp"),
            "ds f32[1] -399.75\ndx f32[4] 1 0 0 1000\ndz f32[1] -110\n");
  // 5 * 10 - 2 * 100 + 5 * 1000
  EXPECT_EQ(gradients("clamp"), "ds f32[1] 4850\ndx f32[4] 1 0 0 0\ndz f32[1] -1110\n");
}

struct Case {
  int bits;
  int round_type;
  bool is_unsigned;
  int zero_point;
  std::string surrogate;
};

// x [12], the step and the zero point, and the gradient of the loss sum(dy * quantized x).
class Surrogate {
 public:
  explicit Surrogate(const Case& test_case)
      : case_(test_case),
        lowest_(test_case.is_unsigned ? 0 : -std::ldexp(1.0, test_case.bits - 1)),
        largest_(lowest_ + std::ldexp(1.0, test_case.bits) - 1),
        step_(2.4 / (largest_ - lowest_)) {
    const RandomStream random(1, 0, 0);
    for (int i = 0; i < kSize; ++i) {
      x_.push_back(4 * random.Uniform(i) - 2);
      dy_.push_back(2 * random.Uniform(kSize + i) - 1);
    }
  }

  // The loss where rounding adds what it adds at x and the step, and what is clipped stays clipped;
  // and where one number is shifted.
  double Loss(int shifted_x, double of_x, double of_step, double of_zero_point) const {
    double loss = 0;
    for (int i = 0; i < kSize; ++i) {
      const double u = x_[i] / step_;
      const double rounded = case_.round_type == 0 ? std::nearbyint(u) : std::round(u);
      const double x = x_[i] + (i == shifted_x ? of_x : 0);
      const double step = step_ + of_step;
      // A zero point that is added to a code and subtracted again does not count.
      double result = (x / step + rounded - u) * step;
      // Clamping alone: what rounding adds does not depend on the step.
      if (case_.surrogate == "clamp") result = x + (rounded - u) * step_;
      const double code = (case_.surrogate == "round_then_clamp" ? rounded : u) + case_.zero_point;
      const bool is_inside = case_.surrogate == "round_then_clamp"
                                 ? code >= lowest_ && code <= largest_
                                 : code > lowest_ && code < largest_;
      if (!is_inside) {
        const double bound = code < largest_ ? lowest_ : largest_;
        result = (bound - case_.zero_point - of_zero_point) * step;
      }
      loss += dy_[i] * result;
    }
    return loss;
  }

  // A gradient as the op computes it.
  std::vector<double> Computed(const std::string& gradient) const {
    const Program program = ParsedProgram(absl::StrCat(
        "fake_quantize_dequantize_affine_grad(X=x, InScale=s, InZeroPoint=z, Out@GRAD=dy) -> "
        "(X@GRAD=dx, InScale@GRAD=ds, InZeroPoint@GRAD=dz) {bit_length=",
        case_.bits, ", round_type=", case_.round_type, ", unsigned_codes=",
        case_.is_unsigned ? "true" : "false", ", surrogate=\"", case_.surrogate, "\"}"));
    Scope scope;
    scope.Set("x", Tensor::FromValues<double>({kSize}, x_));
    scope.Set("dy", Tensor::FromValues<double>({kSize}, dy_));
    scope.Set("s", Tensor::FromValues<double>({1}, std::vector<double>{step_}));
    scope.Set("z", Tensor::FromValues<double>({1}, std::vector<double>{1.0 * case_.zero_point}));
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
  const Case case_;
  const double lowest_;
  const double largest_;
  const double step_;
  std::vector<double> x_;
  std::vector<double> dy_;
};

class QuantizeAffineGradient : public testing::TestWithParam<Case> {};

TEST_P(QuantizeAffineGradient, EqualsCentralDifferencesOfTheSurrogate) {
  constexpr double kShift = 1e-5;
  constexpr double kTolerance = 1e-7;
  const Surrogate surrogate(GetParam());
  const std::vector<double> dx = surrogate.Computed("dx");
  ASSERT_EQ(dx.size(), Surrogate::kSize);
  for (int i = 0; i < Surrogate::kSize; ++i) {
    const double difference = surrogate.Loss(i, kShift, 0, 0) - surrogate.Loss(i, -kShift, 0, 0);
    EXPECT_NEAR(dx[i], difference / (2 * kShift), kTolerance) << "x[" << i << "]";
  }
  const double of_step = surrogate.Loss(-1, 0, kShift, 0) - surrogate.Loss(-1, 0, -kShift, 0);
  EXPECT_NEAR(surrogate.Computed("ds").at(0), of_step / (2 * kShift),
              kTolerance * (1 + std::fabs(of_step / kShift)));
  const double of_zero_point = surrogate.Loss(-1, 0, 0, kShift) - surrogate.Loss(-1, 0, 0, -kShift);
  EXPECT_NEAR(surrogate.Computed("dz").at(0), of_zero_point / (2 * kShift), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Surrogates, QuantizeAffineGradient,
                         testing::Values(Case{2, 0, true, 1, "clamp_then_round"},
                                         Case{3, 1, false, -2, "round_then_clamp"},
                                         Case{4, 0, false, 3, "clamp_then_round"},
                                         Case{4, 0, true, 0, "round_then_clamp"},
                                         Case{8, 1, true, 100, "clamp"}),
                         [](const testing::TestParamInfo<Case>& info) {
                           return absl::StrCat(info.param.surrogate, "_", info.param.bits,
                                               info.param.round_type == 0 ? "ToEven" : "Away",
                                               info.param.is_unsigned ? "Unsigned" : "");
                         });

}  // namespace
}  // namespace fixpoint::reference
