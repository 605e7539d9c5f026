// The learning rate: a constant, or a schedule that ops compute at each step.

#ifndef FIXPOINT_OPS_LEARNING_RATE_H_
#define FIXPOINT_OPS_LEARNING_RATE_H_

#include <functional>
#include <string>
#include <vector>

#include "ops/program_builder.h"

namespace fixpoint {

class LearningRate {
 public:
  // A constant. (Implicit, for Optimizer(Sgd(), 0.1f).)
  LearningRate(float rate);  // NOLINT(runtime/explicit)

  // scale * model_width^-0.5 * min(step^-0.5, step * warmup_steps^-1.5), step counted from 1
  // ("Attention Is All You Need", section 5.3). Error (kInvalidArgument): a size is not positive.
  static LearningRate Noam(int model_width, int warmup_steps, float scale = 1);
  // values[i] for steps below boundaries[i] (and not below those before), steps counted from 0; the
  // last value after the last boundary. Error (kInvalidArgument): the boundaries do not ascend;
  // there are none; or there is not exactly one more value.
  static LearningRate Piecewise(std::vector<int64_t> boundaries, std::vector<float> values);

  // Whether ops compute it: they belong before the backward pass.
  bool is_scheduled() const { return is_scheduled_; }
  // Writes the ops that compute it; returns the variable that holds the rate.
  std::string Append(ProgramBuilder& builder) const { return append_(builder); }

 private:
  using Appender = std::function<std::string(ProgramBuilder&)>;
  explicit LearningRate(Appender append) : append_(std::move(append)), is_scheduled_(true) {}

  Appender append_;
  bool is_scheduled_ = false;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_LEARNING_RATE_H_
