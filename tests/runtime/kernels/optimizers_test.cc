// The updates of optimizers against the same formulas in double, over some steps of one state.

#include "runtime/kernels/optimizers.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

constexpr int kSteps = 4;
constexpr float kRate = 0.05f;
// Whole vectors and a rest, whatever their width.
constexpr size_t kSize = 83;

std::vector<float> Waves(double step, double offset) {
  std::vector<float> values(kSize);
  for (size_t i = 0; i < kSize; ++i) {
    values[i] = static_cast<float>(std::sin(step * static_cast<double>(i)) + offset);
  }
  return values;
}

std::vector<float> GradOf(int step) { return Waves(0.7 + step, 0.1); }

class Optimizers : public testing::Test {
 protected:
  Optimizers() : param_(Waves(1.3, 0)), expected_(param_.begin(), param_.end()) {}

  absl::Span<float> param() { return absl::MakeSpan(param_); }

  // An element is at most 2, and each of the steps has up to a dozen operations of floats on
  // numbers of about its size.
  void ExpectEqual() const {
    for (size_t i = 0; i < kSize; ++i) {
      EXPECT_NEAR(param_[i], expected_[i], kSteps * 12 * FLT_EPSILON) << i;
    }
  }

  std::vector<float> param_;
  std::vector<double> expected_;
};

TEST_F(Optimizers, Sgd) {
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<float> grad = GradOf(step);
    Sgd(grad, kRate, param());
    for (size_t i = 0; i < kSize; ++i) expected_[i] -= double{kRate} * grad[i];
  }
  ExpectEqual();
}

TEST_F(Optimizers, Momentum) {
  for (const bool nesterov : {false, true}) {
    const MomentumRule rule = {0.8f, nesterov, 0.01f, 0.5f};
    std::vector<float> velocity(kSize);
    std::vector<double> v(kSize);
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<float> grad = GradOf(step);
      Momentum(rule, grad, kRate, param(), absl::MakeSpan(velocity));
      for (size_t i = 0; i < kSize; ++i) {
        const double g = double{grad[i]} * 0.5 + double{rule.l2_decay} * expected_[i];
        v[i] = double{rule.mu} * v[i] + g;
        expected_[i] -= kRate * (nesterov ? g + rule.mu * v[i] : v[i]);
      }
    }
    ExpectEqual();
  }
}

// The moments of adam and lamb in double, beside those of the kernel.
struct MomentPair {
  std::vector<float> first = std::vector<float>(kSize);
  std::vector<float> second = std::vector<float>(kSize);
  std::vector<double> m = std::vector<double>(kSize);
  std::vector<double> v = std::vector<double>(kSize);
  float beta1 = 0.9f;
  float beta2 = 0.99f;
  float beta1_power = 0.9f;
  float beta2_power = 0.99f;

  Moments OfKernel() {
    return {beta1, beta2, beta1_power, beta2_power, absl::MakeSpan(first), absl::MakeSpan(second)};
  }
  void Take(const std::vector<float>& grad) {
    for (size_t i = 0; i < kSize; ++i) {
      m[i] = beta1 * m[i] + (1.0 - beta1) * grad[i];
      v[i] = beta2 * v[i] + (1.0 - beta2) * grad[i] * grad[i];
    }
  }
  void NextStep() {
    beta1_power *= beta1;
    beta2_power *= beta2;
  }
};

TEST_F(Optimizers, AdamOfBothErasWithDecay) {
  for (const bool corrects : {false, true}) {
    const AdamRule rule = {1e-3f, corrects, 0.1f};
    MomentPair moments;
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<float> grad = GradOf(step);
      Adam(rule, grad, kRate, param(), moments.OfKernel());
      moments.Take(grad);
      const double correction = std::sqrt(1.0 - moments.beta2_power);
      const double epsilon = rule.epsilon * (corrects ? correction : 1.0);
      const double rate = kRate * correction / (1.0 - moments.beta1_power);
      for (size_t i = 0; i < kSize; ++i) {
        expected_[i] -= double{kRate} * rule.decay * expected_[i];
        expected_[i] -= rate * moments.m[i] / (std::sqrt(moments.v[i]) + epsilon);
      }
      moments.NextStep();
    }
    ExpectEqual();
  }
}

TEST_F(Optimizers, LambOfBothEras) {
  for (const bool corrects : {false, true}) {
    const LambRule rule = {1e-3f, 0.02f, corrects};
    MomentPair moments;
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<float> grad = GradOf(step);
      Lamb(rule, grad, kRate, param(), moments.OfKernel());
      moments.Take(grad);
      const double first = corrects ? 1.0 - moments.beta1_power : 1.0;
      const double second = corrects ? 1.0 - moments.beta2_power : 1.0;
      std::vector<double> direction(kSize);
      double of_param = 0;
      double of_direction = 0;
      for (size_t i = 0; i < kSize; ++i) {
        direction[i] = moments.m[i] / first / (std::sqrt(moments.v[i] / second) + rule.epsilon) +
                       rule.decay * expected_[i];
        of_param += expected_[i] * expected_[i];
        of_direction += direction[i] * direction[i];
      }
      const double ratio = std::sqrt(of_param) / std::sqrt(of_direction);
      for (size_t i = 0; i < kSize; ++i) expected_[i] -= kRate * ratio * direction[i];
      moments.NextStep();
    }
    ExpectEqual();
  }
}

TEST(Optimizer, LambTakesARatioOfOneWhereANormIsZero) {
  std::vector<float> param = {0, 0};
  std::vector<float> first(2);
  std::vector<float> second(2);
  Lamb({1.0f, 0, false}, {1.0f, -1.0f}, 1.0f, absl::MakeSpan(param),
       {0.5f, 0, 0.5f, 0, absl::MakeSpan(first), absl::MakeSpan(second)});
  EXPECT_EQ(param, (std::vector<float>{-0.25f, 0.25f}));
}

TEST(Optimizer, LambDoesNotAdaptWhereItsRuleSaysSo) {
  LambRule rule = {1.0f, 0, false};
  rule.adapts = false;
  std::vector<float> param = {3, 4};
  std::vector<float> first(2);
  std::vector<float> second(2);
  Lamb(rule, {1.0f, -1.0f}, 1.0f, absl::MakeSpan(param),
       {0.5f, 0, 0.5f, 0, absl::MakeSpan(first), absl::MakeSpan(second)});
  EXPECT_EQ(param, (std::vector<float>{2.75f, 4.25f}));
}

TEST_F(Optimizers, Adagrad) {
  std::vector<float> moment(kSize, 0.5f);
  std::vector<double> squares(kSize, 0.5);
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<float> grad = GradOf(step);
    Adagrad(1e-3f, grad, kRate, param(), absl::MakeSpan(moment));
    for (size_t i = 0; i < kSize; ++i) {
      squares[i] += double{grad[i]} * grad[i];
      expected_[i] -= kRate * grad[i] / (std::sqrt(squares[i]) + 1e-3f);
    }
  }
  ExpectEqual();
}

// The mean of squares less the square of the mean cancels, so that epsilon has to be of their size.
TEST_F(Optimizers, RmsPropCenteredAndNot) {
  const RmsPropRule rule = {0.9f, 0.1f, 0.5f};
  for (const bool centered : {false, true}) {
    std::vector<float> mean_square(kSize);
    std::vector<float> moment(kSize);
    std::vector<float> mean_grad(centered ? kSize : 0);
    std::vector<double> squares(kSize);
    std::vector<double> m(kSize);
    std::vector<double> means(kSize);
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<float> grad = GradOf(step);
      RmsProp(rule, grad, kRate, param(), absl::MakeSpan(mean_square), absl::MakeSpan(moment),
              absl::MakeSpan(mean_grad));
      for (size_t i = 0; i < kSize; ++i) {
        squares[i] = rule.decay * squares[i] + (1.0 - rule.decay) * grad[i] * grad[i];
        if (centered) means[i] = rule.decay * means[i] + (1.0 - rule.decay) * grad[i];
        const double variance = squares[i] - means[i] * means[i];
        m[i] = rule.momentum * m[i] + kRate * grad[i] / std::sqrt(variance + rule.epsilon);
        expected_[i] -= m[i];
      }
    }
    ExpectEqual();
  }
}

}  // namespace
}  // namespace fixpoint::kernels
