#include "runtime/kernels/optimizers.h"

#include <glog/logging.h>

#include <cmath>
#include <cstddef>

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

// Calls update(i) for each element.
template <typename Update>
void UpdateEach(size_t size, Update update) {
  // The parameter and a moment are read and written, and a gradient is read.
  ParallelFor(size, 20, [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) update(i);
  });
}

// One element of the moments, updated with its gradient.
struct MomentsLoop {
  explicit MomentsLoop(const Moments& moments)
      : beta1(moments.beta1),
        beta2(moments.beta2),
        first(moments.first.data()),
        second(moments.second.data()) {}

  void Take(size_t i, float grad) const {
    first[i] = beta1 * first[i] + (1.0f - beta1) * grad;
    second[i] = beta2 * second[i] + (1.0f - beta2) * grad * grad;
  }

  float beta1;
  float beta2;
  float* first;
  float* second;
};

void CheckSizes(absl::Span<const float> grad, absl::Span<const float> param,
                const Moments& moments) {
  CHECK_EQ(grad.size(), param.size());
  CHECK_EQ(moments.first.size(), param.size());
  CHECK_EQ(moments.second.size(), param.size());
}

}  // namespace

void Sgd(absl::Span<const float> grad, float learning_rate, absl::Span<float> param) {
  CHECK_EQ(grad.size(), param.size());
  UpdateEach(param.size(), [=, grad = grad.data(), param = param.data()](size_t i) {
    param[i] -= learning_rate * grad[i];
  });
}

void Momentum(const MomentumRule& rule, absl::Span<const float> grad, float learning_rate,
              absl::Span<float> param, absl::Span<float> velocity) {
  CHECK_EQ(grad.size(), param.size());
  CHECK_EQ(velocity.size(), param.size());
  UpdateEach(param.size(), [=, grad = grad.data(), param = param.data(),
                            velocity = velocity.data()](size_t i) {
    const float g = grad[i] * rule.rescale + rule.l2_decay * param[i];
    velocity[i] = rule.mu * velocity[i] + g;
    param[i] -= learning_rate * (rule.nesterov ? g + rule.mu * velocity[i] : velocity[i]);
  });
}

void Adam(const AdamRule& rule, absl::Span<const float> grad, float learning_rate,
          absl::Span<float> param, const Moments& moments) {
  CheckSizes(grad, param, moments);
  const double correction = std::sqrt(1.0 - double{moments.beta2_power});
  const float epsilon =
      rule.corrects_before_epsilon ? static_cast<float>(rule.epsilon * correction) : rule.epsilon;
  const float rate =
      static_cast<float>(learning_rate * correction / (1.0 - double{moments.beta1_power}));
  const float decay = learning_rate * rule.decay;
  UpdateEach(param.size(),
             [=, m = MomentsLoop(moments), grad = grad.data(), param = param.data()](size_t i) {
               m.Take(i, grad[i]);
               const float decayed = param[i] - decay * param[i];
               param[i] = decayed - rate * m.first[i] / (__builtin_sqrtf(m.second[i]) + epsilon);
             });
}

void Lamb(const LambRule& rule, absl::Span<const float> grad, float learning_rate,
          absl::Span<float> param_span, const Moments& moments) {
  CheckSizes(grad, param_span, moments);
  const size_t size = param_span.size();
  float* const param = param_span.data();
  const double first = rule.corrects_moments ? 1.0 - double{moments.beta1_power} : 1.0;
  const double second = rule.corrects_moments ? 1.0 - double{moments.beta2_power} : 1.0;
  const float to_first = static_cast<float>(1.0 / first);
  const float to_second = static_cast<float>(1.0 / second);
  const MomentsLoop m(moments);
  UpdateEach(size, [=, grad = grad.data()](size_t i) { m.Take(i, grad[i]); });
  const auto direction = [=](size_t i) {
    return m.first[i] * to_first / (__builtin_sqrtf(m.second[i] * to_second) + rule.epsilon) +
           rule.decay * param[i];
  };
  const auto square = [](double x) { return x * x; };
  const double of_param = ParallelSum(size, 4, [=](size_t i) { return square(param[i]); });
  const double of_direction = ParallelSum(size, 12, [=](size_t i) { return square(direction(i)); });
  const bool has_ratio = rule.adapts && of_param > 0 && of_direction > 0;
  const double ratio = has_ratio ? std::sqrt(of_param) / std::sqrt(of_direction) : 1.0;
  const float rate = static_cast<float>(learning_rate * ratio);
  UpdateEach(size, [=](size_t i) { param[i] -= rate * direction(i); });
}

void Adagrad(float epsilon, absl::Span<const float> grad, float learning_rate,
             absl::Span<float> param, absl::Span<float> moment) {
  CHECK_EQ(grad.size(), param.size());
  CHECK_EQ(moment.size(), param.size());
  UpdateEach(param.size(),
             [=, grad = grad.data(), param = param.data(), moment = moment.data()](size_t i) {
               moment[i] += grad[i] * grad[i];
               param[i] -= learning_rate * grad[i] / (__builtin_sqrtf(moment[i]) + epsilon);
             });
}

void RmsProp(const RmsPropRule& rule, absl::Span<const float> grad, float learning_rate,
             absl::Span<float> param, absl::Span<float> mean_square, absl::Span<float> moment,
             absl::Span<float> mean_grad) {
  CHECK_EQ(grad.size(), param.size());
  CHECK_EQ(mean_square.size(), param.size());
  CHECK_EQ(moment.size(), param.size());
  const auto step = [=, grad = grad.data(), param = param.data(), moment = moment.data()](
                        size_t i, float variance) {
    moment[i] = rule.momentum * moment[i] +
                learning_rate * grad[i] / __builtin_sqrtf(variance + rule.epsilon);
    param[i] -= moment[i];
  };
  const auto follow = [=, grad = grad.data(), mean_square = mean_square.data()](size_t i) {
    return mean_square[i] = rule.decay * mean_square[i] + (1.0f - rule.decay) * grad[i] * grad[i];
  };
  if (mean_grad.empty()) {
    return UpdateEach(param.size(), [=](size_t i) { step(i, follow(i)); });
  }
  CHECK_EQ(mean_grad.size(), param.size());
  UpdateEach(param.size(), [=, grad = grad.data(), mean_grad = mean_grad.data()](size_t i) {
    const float square = follow(i);
    mean_grad[i] = rule.decay * mean_grad[i] + (1.0f - rule.decay) * grad[i];
    step(i, square - mean_grad[i] * mean_grad[i]);
  });
}

}  // namespace fixpoint::kernels
