#include "ops/quantizers/moving_average.h"

#include <algorithm>
#include <cmath>

#include "ops/quantizers/abs_max_attrs.h"
#include "ops/quantizers/carried_state.h"
#include "ops/quantizers/power_of_two_steps.h"

namespace fixpoint {
namespace {

QuantizerRecipe RecipeOf(const std::string& quantize_op) {
  QuantizerRecipe recipe;
  recipe.quantize_op = quantize_op;
  recipe.has_is_test = true;
  recipe.state = {CarriedScale(quantize_op), CarriedState("state", quantize_op, "OutState"),
                  CarriedState("accum", quantize_op, "OutAccum")};
  return recipe;
}

QuantizerRecipe SeparateRecipe() {
  QuantizerRecipe recipe = RecipeOf("fake_quantize_moving_average_abs_max");
  recipe.dequantize_op = "fake_dequantize_max_abs";
  return recipe;
}

QuantizerRecipe FusedRecipe() {
  QuantizerRecipe recipe = RecipeOf("fake_quantize_dequantize_moving_average_abs_max");
  recipe.form = QuantSpec::FUSED;
  return recipe;
}

// Before 2.0 its Out had to be there.
QuantizerRecipe ObserverRecipe(Eras eras) {
  QuantizerRecipe recipe = RecipeOf("moving_average_abs_max_scale");
  recipe.eras = eras;
  recipe.observer_needs_output = eras == Eras::kFluid;
  return recipe;
}

}  // namespace

MovingAverageQuantizer::MovingAverageQuantizer(const std::vector<QuantizerParameter>& parameters)
    : parameters_(
          {{"moving_rate", 0.9, 0, 1, "share of what was that a step keeps"},
           {"initial_state", 1, 0, 1,
            "1 counts a first observation of 1.0 that nobody made, as the reference does; 0 does "
            "not"},
           {"initial_scale", 0.001, 0, 1e30, "the scale before the first step"},
           {"skip_non_finite", 0, 0, 1,
            "1: a tensor's NaN and infinities are not observed; the reference observes them",
            /*reference_has_it=*/false, /*is_integer=*/true},
           PowerOfTwoStepsParameter()}),
      recipes_({SeparateRecipe(), FusedRecipe()}),
      observers_({ObserverRecipe(Eras::kPaddle2), ObserverRecipe(Eras::kFluid)}) {
  parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
}

void MovingAverageQuantizer::AddQuantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const {
  AddSymmetricQuantizeAttrs(spec, op);
  AddFollowingAttrs(spec, op);
}

void MovingAverageQuantizer::AddDequantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const {
  AddSymmetricDequantizeAttrs(spec, op);
}

void MovingAverageQuantizer::AddObserverAttrs(const QuantSpec& spec, OpBuilder& op) const {
  AddFollowingAttrs(spec, op);
  if (HasPowerOfTwoSteps(*this, spec)) op.IntAttr("bit_length", BitLength(spec));
}

void MovingAverageQuantizer::AddFollowingAttrs(const QuantSpec& spec, OpBuilder& op) const {
  op.FloatAttr("moving_rate", static_cast<float>(Parameter(*this, spec, "moving_rate")));
  if (Parameter(*this, spec, "skip_non_finite") != 0) op.BoolAttr("skip_non_finite", true);
  AddPowerOfTwoAttr(*this, spec, op);
}

double MovingAverageQuantizer::InitialValue(const QuantizerState& state,
                                            const QuantSpec& spec) const {
  return Parameter(*this, spec, state.is_scale ? "initial_scale" : "initial_state");
}

double MovingAverageQuantizer::ValueOfRange(const QuantizerState& state, const QuantSpec& spec,
                                            float min, float max) const {
  // A first observation of that range.
  if (state.name == "state") return 1;
  const float range = std::max(std::fabs(min), std::fabs(max));
  return state.is_scale ? WidenedRange(*this, spec, range) : range;
}

float MovingAverageQuantizer::Observe(const QuantSpec& spec, absl::Span<const float> values,
                                      absl::Span<const absl::Span<float>> state, int64_t) const {
  const float rate = static_cast<float>(Parameter(*this, spec, "moving_rate"));
  float& count = state[1][0];
  float& accumulated = state[2][0];
  count = rate * count + 1.0f;
  accumulated = rate * accumulated + RangeOf(spec, values);
  return state[0][0] = WidenedRange(*this, spec, accumulated / count);
}

}  // namespace fixpoint
