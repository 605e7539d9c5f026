// adagrad: m += g^2; p -= lr * g / (sqrt(m) + epsilon).

#include "ops/optimizer.h"

namespace fixpoint {
namespace {

class AdagradRule final : public UpdateRule {
 public:
  explicit AdagradRule(float epsilon) : epsilon_(epsilon) {}

  absl::string_view op_type() const override { return "adagrad"; }
  std::vector<Accumulator> Accumulators(Era) const override {
    return {{"_moment_0", "Moment", "MomentOut"}};
  }
  void AddAttrs(OpBuilder& op) const override { op.FloatAttr("epsilon", epsilon_); }

 private:
  const float epsilon_;
};

}  // namespace

std::shared_ptr<const UpdateRule> Adagrad(float epsilon) {
  return std::make_shared<AdagradRule>(epsilon);
}

}  // namespace fixpoint
