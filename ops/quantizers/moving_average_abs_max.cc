// moving_average_abs_max: an exponential moving average of the largest absolute value.
// The reference's fake_quantize_moving_average_abs_max and its fused form.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "ops/quantizer.h"
#include "ops/quantizers/abs_max_attrs.h"
#include "ops/quantizers/moving_average.h"

namespace fixpoint {
namespace {

class MovingAverageAbsMaxQuantizer final : public Quantizer {
 public:
  absl::string_view name() const override { return "moving_average_abs_max"; }
  absl::string_view doc() const override {
    return "An exponential moving average of the largest absolute value.";
  }
  bool is_dynamic() const override { return false; }

  absl::Span<const QuantizerParameter> parameters() const override { return parameters_; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }
  absl::Span<const QuantizerRecipe> observers() const override { return observers_; }

  std::vector<OpDesc::Attr> QuantizeAttrs(const QuantSpec& spec, Era) const override {
    std::vector<OpDesc::Attr> attrs = SymmetricQuantizeAttrs(spec);
    attrs.push_back(
        MakeFloatAttr("moving_rate", static_cast<float>(Parameter(*this, spec, "moving_rate"))));
    if (Parameter(*this, spec, "skip_non_finite") != 0) {
      attrs.push_back(MakeBoolAttr("skip_non_finite", true));
    }
    return attrs;
  }
  std::vector<OpDesc::Attr> ObserverAttrs(const QuantSpec& spec) const override {
    return {
        MakeFloatAttr("moving_rate", static_cast<float>(Parameter(*this, spec, "moving_rate")))};
  }
  std::vector<OpDesc::Attr> DequantizeAttrs(const QuantSpec& spec, Era) const override {
    return SymmetricDequantizeAttrs(spec);
  }
  double InitialValue(const QuantizerState& state, const QuantSpec& spec) const override {
    return Parameter(*this, spec, state.is_scale ? "initial_scale" : "initial_state");
  }
  double ValueOfRange(const QuantizerState& state, const QuantSpec&, float min,
                      float max) const override {
    // A first observation of that range.
    if (state.name == "state") return 1;
    return std::max(std::fabs(min), std::fabs(max));
  }

  // States: scale, state, accum, [1] each.
  float Observe(const QuantSpec& spec, absl::Span<const float> values,
                absl::Span<const absl::Span<float>> state, int64_t) const override {
    const float rate = static_cast<float>(Parameter(*this, spec, "moving_rate"));
    float& count = state[1][0];
    float& accumulated = state[2][0];
    count = rate * count + 1.0f;
    accumulated =
        rate * accumulated + AbsMax(values, Parameter(*this, spec, "skip_non_finite") != 0);
    return state[0][0] = accumulated / count;
  }

 private:
  static std::vector<QuantizerRecipe> Recipes() {
    QuantizerRecipe separate;
    separate.quantize_op = "fake_quantize_moving_average_abs_max";
    separate.dequantize_op = "fake_dequantize_max_abs";
    separate.has_is_test = true;
    QuantizerState scale = CarriedState("scale", "InScale", "OutScale");
    scale.is_scale = true;
    scale.training_only = false;
    separate.state = {scale, CarriedState("state", "InState", "OutState"),
                      CarriedState("accum", "InAccum", "OutAccum")};
    QuantizerRecipe fused = separate;
    fused.form = QuantSpec::FUSED;
    fused.quantize_op = "fake_quantize_dequantize_moving_average_abs_max";
    fused.dequantize_op = "";
    return {separate, fused};
  }

  // The reference's moving_average_abs_max_scale; before 2.0 its Out had to be there.
  static std::vector<QuantizerRecipe> Observers() {
    QuantizerRecipe observer = Recipes().front();
    observer.quantize_op = "moving_average_abs_max_scale";
    observer.dequantize_op = "";
    observer.eras = Eras::kPaddle2;
    QuantizerState& scale = observer.state.front();
    scale.input = "";
    QuantizerRecipe fluid = observer;
    fluid.eras = Eras::kFluid;
    fluid.observer_needs_output = true;
    return {observer, fluid};
  }

  const std::vector<QuantizerParameter> parameters_ = MovingAverageParameters();
  const std::vector<QuantizerRecipe> recipes_ = Recipes();
  const std::vector<QuantizerRecipe> observers_ = Observers();
};

}  // namespace

std::unique_ptr<Quantizer> MakeMovingAverageAbsMax() {
  return std::make_unique<MovingAverageAbsMaxQuantizer>();
}

}  // namespace fixpoint
