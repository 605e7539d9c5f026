// adam, adamw and lamb: the moments of the gradient, and powers of beta1 and beta2 that count the
// steps. The ops multiply the powers themselves (1.7 and later); lamb of 1.x does not use them.

#include "ops/optimizer.h"

namespace fixpoint {
namespace {

class AdamRule : public UpdateRule {
 public:
  explicit AdamRule(const AdamOptions& options) : options_(options) {}

  absl::string_view op_type() const override { return "adam"; }
  std::vector<Accumulator> Accumulators(Era) const override {
    return WithPowers("Beta1PowOut", "Beta2PowOut");
  }
  void AddAttrs(OpBuilder& op) const override {
    op.FloatAttr("beta1", options_.beta1)
        .FloatAttr("beta2", options_.beta2)
        .FloatAttr("epsilon", options_.epsilon);
  }

 protected:
  std::vector<Accumulator> WithPowers(const std::string& beta1_output,
                                      const std::string& beta2_output) const {
    constexpr auto kOne = Accumulator::Shape::kOne;
    return {{"_moment1_0", "Moment1", "Moment1Out"},
            {"_moment2_0", "Moment2", "Moment2Out"},
            {"_beta1_pow_acc_0", "Beta1Pow", beta1_output, kOne, options_.beta1},
            {"_beta2_pow_acc_0", "Beta2Pow", beta2_output, kOne, options_.beta2}};
  }

 private:
  const AdamOptions options_;
};

class AdamWRule final : public AdamRule {
 public:
  AdamWRule(float decay, const AdamOptions& options) : AdamRule(options), decay_(decay) {}

  absl::string_view op_type() const override { return "adamw"; }
  bool IsOf(Era era) const override { return era == Era::kPaddle2; }
  void AddAttrs(OpBuilder& op) const override {
    AdamRule::AddAttrs(op);
    op.FloatAttr("coeff", decay_).BoolAttr("with_decay", true);
  }

 private:
  const float decay_;
};

class LambRule final : public AdamRule {
 public:
  LambRule(float decay, const AdamOptions& options) : AdamRule(options), decay_(decay) {}

  absl::string_view op_type() const override { return "lamb"; }
  std::vector<Accumulator> Accumulators(Era era) const override {
    return era == Era::kFluid ? WithPowers("", "") : AdamRule::Accumulators(era);
  }
  void AddAttrs(OpBuilder& op) const override {
    AdamRule::AddAttrs(op);
    op.FloatAttr("weight_decay", decay_);
  }

 private:
  const float decay_;
};

}  // namespace

std::shared_ptr<const UpdateRule> Adam(const AdamOptions& options) {
  return std::make_shared<AdamRule>(options);
}

std::shared_ptr<const UpdateRule> AdamW(float decay, const AdamOptions& options) {
  return std::make_shared<AdamWRule>(decay, options);
}

std::shared_ptr<const UpdateRule> Lamb(float decay, const AdamOptions& options) {
  return std::make_shared<LambRule>(decay, options);
}

}  // namespace fixpoint
