// moving_average_min_max: an affine quantizer over exponential moving averages of the smallest and
// the largest value (Jacob et al. 2018, arXiv 1712.05877, §3.1).
// Ops of Fixpoint's own, fake_quantize_moving_average_min_max and fake_dequantize_affine; the
// reference's quantize_linear has a zero point but does not read it.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "ops/affine_codes.h"
#include "ops/code_range.h"
#include "ops/quantizer.h"
#include "ops/quantizers/carried_state.h"

namespace fixpoint {
namespace {

class MovingAverageMinMaxQuantizer final : public Quantizer {
 public:
  absl::string_view name() const override { return "moving_average_min_max"; }
  absl::string_view doc() const override {
    return "Exponential moving averages of the smallest and the largest value, with a zero point.";
  }
  QuantSpec::Scheme scheme() const override { return QuantSpec::AFFINE; }
  bool is_dynamic() const override { return false; }

  absl::Span<const QuantizerParameter> parameters() const override { return parameters_; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }

  void AddQuantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    op.IntAttr("bit_length", spec.bits())
        .BoolAttr("unsigned_codes", spec.signedness() == QuantSpec::UNSIGNED)
        .IntAttr("round_type", RoundTypeOf(spec.rounding()))
        .FloatAttr("moving_rate", static_cast<float>(Parameter(*this, spec, "moving_rate")));
  }
  void AddDequantizeAttrs(const QuantSpec&, Era, OpBuilder&) const override {}
  double InitialValue(const QuantizerState& state, const QuantSpec& spec) const override {
    return state.is_scale ? Parameter(*this, spec, "initial_scale") : 0;
  }

  double ValueOfRange(const QuantizerState& state, const QuantSpec& spec, float min,
                      float max) const override {
    const AffineParams params = ParamsOf(spec, std::min(min, 0.0f), std::max(max, 0.0f));
    if (state.is_scale) return params.step;
    if (state.name == "zero_point") return params.zero_point;
    if (state.name == "accum_min") return std::min(min, 0.0f);
    return state.name == "accum_max" ? std::max(max, 0.0f) : 1;
  }

  // States: scale (the step between two codes), zero_point, state, accum_min, accum_max, [1] each.
  // The range is widened to contain 0, so that 0 has a code; for a range of 0, or close to it, the
  // scale is 1. Returns the scale.
  float Observe(const QuantSpec& spec, absl::Span<const float> values,
                absl::Span<const absl::Span<float>> state, int64_t) const override {
    const float rate = static_cast<float>(Parameter(*this, spec, "moving_rate"));
    float smallest = 0;
    float largest = 0;
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
    }
    const float count = state[2][0] = rate * state[2][0] + 1.0f;
    const float min = (state[3][0] = rate * state[3][0] + smallest) / count;
    const float max = (state[4][0] = rate * state[4][0] + largest) / count;
    const AffineParams params = ParamsOf(spec, min, max);
    state[1][0] = params.zero_point;
    return state[0][0] = params.step;
  }

 private:
  static AffineParams ParamsOf(const QuantSpec& spec, float min, float max) {
    return AffineParamsOf(min, max, CodeRangeOf(spec));
  }

  static std::vector<QuantizerParameter> Parameters() {
    return {{"moving_rate", 0.9, 0, 1, "share of what was that a step keeps"},
            {"initial_scale", 1, 1e-30, 1e30, "the scale before the first step"}};
  }

  static std::vector<QuantizerRecipe> Recipes() {
    QuantizerRecipe recipe;
    recipe.quantize_op = "fake_quantize_moving_average_min_max";
    recipe.dequantize_op = "fake_dequantize_affine";
    recipe.reference_runs_it = false;
    recipe.zero_point_output = "OutZeroPoint";
    recipe.zero_point_input_of_dequantize = "ZeroPoint";
    recipe.has_is_test = true;
    const std::string& op = recipe.quantize_op;
    QuantizerState zero_point = CarriedState("zero_point", op, "OutZeroPoint");
    zero_point.training_only = false;
    recipe.state = {CarriedScale(op), zero_point, CarriedState("state", op, "OutState"),
                    CarriedState("accum_min", op, "OutAccumMin"),
                    CarriedState("accum_max", op, "OutAccumMax")};
    return {recipe};
  }

  const std::vector<QuantizerParameter> parameters_ = Parameters();
  const std::vector<QuantizerRecipe> recipes_ = Recipes();
};

}  // namespace

std::unique_ptr<Quantizer> MakeMovingAverageMinMax() {
  return std::make_unique<MovingAverageMinMaxQuantizer>();
}

}  // namespace fixpoint
