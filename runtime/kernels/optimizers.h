// The updates of optimizers, in place. Spans have one size; what is named `learning_rate` is the
// number that the program computed for this step.

#ifndef FIXPOINT_RUNTIME_KERNELS_OPTIMIZERS_H_
#define FIXPOINT_RUNTIME_KERNELS_OPTIMIZERS_H_

#include "absl/types/span.h"

namespace fixpoint::kernels {

// param -= learning_rate * grad.
void Sgd(absl::Span<const float> grad, float learning_rate, absl::Span<float> param);

// g = rescale * grad + l2_decay * param; velocity = mu * velocity + g;
// param -= learning_rate * (nesterov ? g + mu * velocity : velocity).
struct MomentumRule {
  float mu = 0.9f;
  bool nesterov = false;
  float l2_decay = 0;
  float rescale = 1;
};
void Momentum(const MomentumRule& rule, absl::Span<const float> grad, float learning_rate,
              absl::Span<float> param, absl::Span<float> velocity);

// first = beta1 * first + (1 - beta1) * grad; second = beta2 * second + (1 - beta2) * grad^2. The
// powers are those of this step, beta1 and beta2 themselves in the first; the caller multiplies
// them for the next.
struct Moments {
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float beta1_power = 0;
  float beta2_power = 0;
  absl::Span<float> first;
  absl::Span<float> second;
};

// param -= learning_rate * decay * param, which is adamw's; then
// param -= rate * first / (sqrt(second) + epsilon), where rate is
// learning_rate * sqrt(1 - beta2_power) / (1 - beta1_power).
struct AdamRule {
  float epsilon = 1e-8f;
  // As 2.x does: epsilon is added to a second moment that is corrected for its start.
  bool corrects_before_epsilon = false;
  float decay = 0;
};
void Adam(const AdamRule& rule, absl::Span<const float> grad, float learning_rate,
          absl::Span<float> param, const Moments& moments);

// direction = first / (sqrt(second) + epsilon) + decay * param;
// param -= learning_rate * |param| / |direction| * direction, the ratio 1 where a norm is 0 or the
// rule does not adapt.
struct LambRule {
  float epsilon = 1e-6f;
  float decay = 0.01f;
  bool corrects_moments = false;  // for their start, as 2.x does
  bool adapts = true;
};
void Lamb(const LambRule& rule, absl::Span<const float> grad, float learning_rate,
          absl::Span<float> param, const Moments& moments);

// moment += grad^2; param -= learning_rate * grad / (sqrt(moment) + epsilon).
void Adagrad(float epsilon, absl::Span<const float> grad, float learning_rate,
             absl::Span<float> param, absl::Span<float> moment);

// mean_square = decay * mean_square + (1 - decay) * grad^2, and mean_grad likewise for the gradient
// itself, empty where the rule is not centered; moment = momentum * moment + learning_rate * grad /
// sqrt(mean_square - mean_grad^2 + epsilon); param -= moment.
struct RmsPropRule {
  float decay = 0.95f;
  float epsilon = 1e-6f;
  float momentum = 0;
};
void RmsProp(const RmsPropRule& rule, absl::Span<const float> grad, float learning_rate,
             absl::Span<float> param, absl::Span<float> mean_square, absl::Span<float> moment,
             absl::Span<float> mean_grad);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_OPTIMIZERS_H_
