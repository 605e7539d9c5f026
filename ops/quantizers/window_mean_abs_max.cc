// window_mean_abs_max: the mean of the largest absolute values of a window of steps.
// An op of Fixpoint's own, fake_quantize_window_mean_abs_max, with the slots of
// fake_quantize_range_abs_max; the reference has none.

#include <algorithm>
#include <memory>
#include <vector>

#include "ops/quantizer.h"
#include "ops/quantizers/abs_max_attrs.h"
#include "ops/quantizers/window.h"

namespace fixpoint {
namespace {

class WindowMeanAbsMaxQuantizer final : public Quantizer {
 public:
  absl::string_view name() const override { return "window_mean_abs_max"; }
  absl::string_view doc() const override {
    return "The mean of the largest absolute values of the last window_size steps.";
  }
  bool is_dynamic() const override { return false; }

  absl::Span<const QuantizerParameter> parameters() const override { return parameters_; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }

  std::vector<OpDesc::Attr> QuantizeAttrs(const QuantSpec& spec, Era) const override {
    std::vector<OpDesc::Attr> attrs = SymmetricQuantizeAttrs(spec);
    attrs.push_back(
        MakeIntAttr("window_size", static_cast<int32_t>(Parameter(*this, spec, "window_size"))));
    return attrs;
  }
  std::vector<OpDesc::Attr> DequantizeAttrs(const QuantSpec& spec, Era) const override {
    return SymmetricDequantizeAttrs(spec);
  }
  double InitialValue(const QuantizerState& state, const QuantSpec& spec) const override {
    return state.is_scale ? Parameter(*this, spec, "initial_scale") : 0;
  }

  // States: scale [1], scales [window_size]. Step t is written at (t - 1) mod window_size; the
  // mean is over the steps that were seen, summed in double in the order of the buffer.
  float Observe(const QuantSpec&, absl::Span<const float> values,
                absl::Span<const absl::Span<float>> state, int64_t step) const override {
    const absl::Span<float> window = state[1];
    window[(step - 1) % window.size()] = AbsMax(values);
    const size_t seen = std::min<size_t>(step, window.size());
    double sum = 0;
    for (size_t i = 0; i < seen; ++i) sum += window[i];
    return state[0][0] = static_cast<float>(sum / static_cast<double>(seen));
  }

 private:
  static std::vector<QuantizerRecipe> Recipes() {
    QuantizerRecipe recipe = WindowRecipe("fake_quantize_window_mean_abs_max");
    recipe.reference_runs_it = false;
    return {recipe};
  }

  const std::vector<QuantizerParameter> parameters_ = WindowParameters();
  const std::vector<QuantizerRecipe> recipes_ = Recipes();
};

}  // namespace

std::unique_ptr<Quantizer> MakeWindowMeanAbsMax() {
  return std::make_unique<WindowMeanAbsMaxQuantizer>();
}

}  // namespace fixpoint
