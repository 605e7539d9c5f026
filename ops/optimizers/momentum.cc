// momentum: v = mu * v + g; p -= lr * v, or, Nesterov's, p -= lr * (g + mu * v).

#include "ops/optimizer.h"

namespace fixpoint {
namespace {

class MomentumRule final : public UpdateRule {
 public:
  MomentumRule(float mu, bool use_nesterov) : mu_(mu), use_nesterov_(use_nesterov) {}

  absl::string_view op_type() const override { return "momentum"; }
  std::vector<Accumulator> Accumulators(Era) const override {
    return {{"_velocity_0", "Velocity", "VelocityOut"}};
  }
  void AddAttrs(OpBuilder& op) const override {
    op.FloatAttr("mu", mu_).BoolAttr("use_nesterov", use_nesterov_);
  }
  bool DecaysItself(Era era) const override { return era == Era::kPaddle2; }
  void AddL2Decay(float coefficient, OpBuilder& op) const override {
    op.StringAttr("regularization_method", "l2_decay")
        .FloatAttr("regularization_coeff", coefficient);
  }

 private:
  const float mu_;
  const bool use_nesterov_;
};

}  // namespace

std::shared_ptr<const UpdateRule> Momentum(float mu, bool use_nesterov) {
  return std::make_shared<MomentumRule>(mu, use_nesterov);
}

}  // namespace fixpoint
