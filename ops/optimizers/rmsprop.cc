// rmsprop: ms = decay * ms + (1 - decay) * g^2; v = momentum * v + lr * g / sqrt(ms + epsilon);
// p -= v. Centered: ms less the square of the gradient's own average.

#include "ops/optimizer.h"

namespace fixpoint {
namespace {

class RmsPropRule final : public UpdateRule {
 public:
  explicit RmsPropRule(const RmsPropOptions& options) : options_(options) {}

  absl::string_view op_type() const override { return "rmsprop"; }
  std::vector<Accumulator> Accumulators(Era) const override {
    return {{"_momentum_0", "Moment", "MomentOut"},
            {"_mean_square_0", "MeanSquare", "MeanSquareOut"},
            {"_mean_grad_0", "MeanGrad", "MeanGradOut"}};
  }
  void AddAttrs(OpBuilder& op) const override {
    op.FloatAttr("decay", options_.decay)
        .FloatAttr("epsilon", options_.epsilon)
        .FloatAttr("momentum", options_.momentum)
        .BoolAttr("centered", options_.centered);
  }

 private:
  const RmsPropOptions options_;
};

}  // namespace

std::shared_ptr<const UpdateRule> RmsProp(const RmsPropOptions& options) {
  return std::make_shared<RmsPropRule>(options);
}

}  // namespace fixpoint
