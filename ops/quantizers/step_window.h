// What the quantizers over a window of steps share: its buffer, and the slots of their ops.

#ifndef FIXPOINT_OPS_QUANTIZERS_STEP_WINDOW_H_
#define FIXPOINT_OPS_QUANTIZERS_STEP_WINDOW_H_

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ops/quantizer.h"
#include "ops/quantizers/abs_max_attrs.h"
#include "ops/quantizers/carried_state.h"

namespace fixpoint {

inline std::vector<QuantizerParameter> WindowParameters() {
  return {{"window_size", 10000, 1, 1e9, "steps that the window spans", /*reference_has_it=*/true,
           /*is_integer=*/true},
          {"initial_scale", 0.001, 0, 1e30,
           "the scale before the first step; the reference's 0.001 stays as a lower bound for "
           "ever, 0 does not"}};
}

// A recipe with an op that has the slots of fake_quantize_range_abs_max. States: scale, scales.
inline QuantizerRecipe WindowRecipe(const std::string& quantize_op) {
  QuantizerRecipe recipe;
  recipe.quantize_op = quantize_op;
  recipe.dequantize_op = "fake_dequantize_max_abs";
  recipe.step_counter_input = "Iter";
  recipe.has_is_test = true;
  QuantizerState scales = CarriedState("scales", quantize_op, "OutScales");
  scales.extent = QuantizerState::Extent::kWindow;
  recipe.state = {CarriedScale(quantize_op), scales};
  return recipe;
}

// A quantizer over a window: everything but its name and its arithmetic. States: scale [1], scales
// [window_size].
class WindowQuantizer : public Quantizer {
 public:
  bool is_dynamic() const override { return false; }
  absl::Span<const QuantizerParameter> parameters() const override { return parameters_; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }

  void AddQuantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    AddSymmetricQuantizeAttrs(spec, op);
    op.IntAttr("window_size", static_cast<int32_t>(Parameter(*this, spec, "window_size")));
  }
  void AddDequantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    AddSymmetricDequantizeAttrs(spec, op);
  }
  double InitialValue(const QuantizerState& state, const QuantSpec& spec) const override {
    return state.is_scale ? Parameter(*this, spec, "initial_scale") : 0;
  }
  // The range is in the window too, so that it leaves it like observed values.
  double ValueOfRange(const QuantizerState&, const QuantSpec&, float min,
                      float max) const override {
    return std::max(std::fabs(min), std::fabs(max));
  }

 protected:
  // `parameters` are added to window_size and initial_scale.
  WindowQuantizer(const std::string& quantize_op, bool reference_runs_it,
                  const std::vector<QuantizerParameter>& parameters = {})
      : recipes_({WindowRecipe(quantize_op)}) {
    parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
    recipes_.front().reference_runs_it = reference_runs_it;
  }

 private:
  std::vector<QuantizerParameter> parameters_ = WindowParameters();
  std::vector<QuantizerRecipe> recipes_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_STEP_WINDOW_H_
