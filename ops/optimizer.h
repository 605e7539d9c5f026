// Optimizers: Minimize turns a forward program into one that trains, whether it was written by
// layers (layers.h) or loaded: ProgramBuilder net(&program, &startup).

#ifndef FIXPOINT_OPS_OPTIMIZER_H_
#define FIXPOINT_OPS_OPTIMIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/backward.h"
#include "ops/gradient_clip.h"
#include "ops/learning_rate.h"
#include "ops/optimizers/update_rule.h"
#include "ops/program_builder.h"

namespace fixpoint {

// The formulas are in ops/optimizers/.
std::shared_ptr<const UpdateRule> Sgd();
std::shared_ptr<const UpdateRule> Momentum(float mu, bool use_nesterov = false);
std::shared_ptr<const UpdateRule> Adagrad(float epsilon = 1e-6f);

struct RmsPropOptions {
  float decay = 0.95f;
  float epsilon = 1e-6f;
  float momentum = 0;
  bool centered = false;
};
std::shared_ptr<const UpdateRule> RmsProp(const RmsPropOptions& options = {});

struct AdamOptions {
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
};
std::shared_ptr<const UpdateRule> Adam(const AdamOptions& options = {});
// Both subtract `decay` times the parameter besides the gradient. AdamW is in 2.x only.
std::shared_ptr<const UpdateRule> AdamW(float decay = 0.01f, const AdamOptions& options = {});
std::shared_ptr<const UpdateRule> Lamb(float decay = 0.01f,
                                       const AdamOptions& options = {0.9f, 0.999f, 1e-6f});

// How a program is trained. A value type, which may be copied:
//
//   const Optimizer optimizer = Optimizer(Momentum(0.9f), 0.1f).set_l2_decay(1e-4f);
//   absl::Status status = optimizer.Minimize(net, loss).status();
class Optimizer {
 public:
  Optimizer(std::shared_ptr<const UpdateRule> rule, LearningRate learning_rate);

  // Adds `coefficient` times each parameter to its gradient, after clipping: to all rows, even if
  // the gradient is sparse. 0: nothing.
  Optimizer& set_l2_decay(float coefficient);
  Optimizer& set_clip(GradientClip clip);

  // Makes the program one that trains. Appends to its block 0: the ops of the learning rate, the
  // backward pass of `loss`, the clipping and the decay of gradients, and an update of each
  // parameter; their state is initialised in the startup program. The order is the reference's:
  // updates by the parameters' names. Returns the parameters, with the gradients that their updates
  // read. Handles into both programs become invalid.
  //
  // Errors: the builder's, if a layer failed; those of AppendBackward; kInvalidArgument: the
  // release has no such update op; a program already declares what has to be declared. Both
  // programs are then unchanged.
  absl::StatusOr<std::vector<ParameterGradient>> Minimize(ProgramBuilder& net,
                                                          absl::string_view loss) const;

 private:
  absl::StatusOr<std::vector<ParameterGradient>> Write(ProgramBuilder& builder,
                                                       absl::string_view loss) const;
  void WriteUpdate(ProgramBuilder& builder, const ParameterGradient& parameter,
                   const std::string& learning_rate) const;

  std::shared_ptr<const UpdateRule> rule_;
  LearningRate learning_rate_;
  float l2_decay_ = 0;
  GradientClip clip_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_OPTIMIZER_H_
