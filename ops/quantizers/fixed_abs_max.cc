// fixed_abs_max: a range that is known beforehand, from a profile (--profile) or because the op
// before it has one (softmax, relu6), and that training does not change.
// The reference's fake_quantize_moving_average_abs_max and its fused form, in test mode for good.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "ops/quantizer.h"
#include "ops/quantizers/abs_max_attrs.h"
#include "ops/quantizers/carried_state.h"
#include "ops/quantizers/power_of_two_steps.h"

namespace fixpoint {
namespace {

class FixedAbsMaxQuantizer final : public Quantizer {
 public:
  absl::string_view name() const override { return "fixed_abs_max"; }
  absl::string_view doc() const override {
    return "A range that a profile or the parameter `range` gives and training does not change.";
  }
  bool is_dynamic() const override { return false; }
  absl::Span<const QuantizerParameter> parameters() const override { return parameters_; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }

  void AddQuantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    AddSymmetricQuantizeAttrs(spec, op);
    op.BoolAttr("is_test", true);
  }
  void AddDequantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    AddSymmetricDequantizeAttrs(spec, op);
  }
  double InitialValue(const QuantizerState&, const QuantSpec& spec) const override {
    return WidenedRange(*this, spec, static_cast<float>(Parameter(*this, spec, "range")));
  }
  double ValueOfRange(const QuantizerState&, const QuantSpec& spec, float min,
                      float max) const override {
    return WidenedRange(*this, spec, std::max(std::fabs(min), std::fabs(max)));
  }

  // States: scale [1].
  float Observe(const QuantSpec&, absl::Span<const float>,
                absl::Span<const absl::Span<float>> state, int64_t) const override {
    return state[0][0];
  }

 private:
  static std::vector<QuantizerRecipe> Recipes() {
    QuantizerRecipe separate;
    separate.quantize_op = "fake_quantize_moving_average_abs_max";
    separate.dequantize_op = "fake_dequantize_max_abs";
    separate.state = {CarriedScale(separate.quantize_op)};
    QuantizerRecipe fused = separate;
    fused.form = QuantSpec::FUSED;
    fused.quantize_op = "fake_quantize_dequantize_moving_average_abs_max";
    fused.dequantize_op = "";
    return {separate, fused};
  }

  const std::vector<QuantizerParameter> parameters_ = {
      {"range", 1, 1e-30, 1e30, "the largest absolute value, where no profile tells it"},
      PowerOfTwoStepsParameter()};
  const std::vector<QuantizerRecipe> recipes_ = Recipes();
};

}  // namespace

std::unique_ptr<Quantizer> MakeFixedAbsMax() { return std::make_unique<FixedAbsMaxQuantizer>(); }

}  // namespace fixpoint
