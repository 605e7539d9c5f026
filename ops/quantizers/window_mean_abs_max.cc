// window_mean_abs_max: the mean of the largest absolute values of a window of steps.
// An op of Fixpoint's own, fake_quantize_window_mean_abs_max, with the slots of
// fake_quantize_range_abs_max; the reference has none.

#include <algorithm>
#include <memory>

#include "ops/quant_math.h"
#include "ops/quantizer.h"
#include "ops/quantizers/power_of_two_steps.h"
#include "ops/quantizers/step_window.h"

namespace fixpoint {
namespace {

class WindowMeanAbsMaxQuantizer final : public WindowQuantizer {
 public:
  WindowMeanAbsMaxQuantizer()
      : WindowQuantizer("fake_quantize_window_mean_abs_max", /*reference_runs_it=*/false,
                        {PowerOfTwoStepsParameter()}) {}

  absl::string_view name() const override { return "window_mean_abs_max"; }
  absl::string_view doc() const override {
    return "The mean of the largest absolute values of the last window_size steps.";
  }

  void AddQuantizeAttrs(const QuantSpec& spec, Era era, OpBuilder& op) const override {
    WindowQuantizer::AddQuantizeAttrs(spec, era, op);
    AddPowerOfTwoAttr(*this, spec, op);
  }
  double ValueOfRange(const QuantizerState& state, const QuantSpec& spec, float min,
                      float max) const override {
    const double range = WindowQuantizer::ValueOfRange(state, spec, min, max);
    return state.is_scale ? WidenedRange(*this, spec, static_cast<float>(range)) : range;
  }

  // States: scale [1], scales [window_size]. Step t is written at (t - 1) mod window_size; the
  // mean is over the steps that were seen, summed in double in the order of the buffer.
  float Observe(const QuantSpec& spec, absl::Span<const float> values,
                absl::Span<const absl::Span<float>> state, int64_t step) const override {
    const absl::Span<float> window = state[1];
    window[(step - 1) % window.size()] = AbsMax(values);
    const size_t seen = std::min<size_t>(step, window.size());
    double sum = 0;
    for (size_t i = 0; i < seen; ++i) sum += window[i];
    return state[0][0] =
               WidenedRange(*this, spec, static_cast<float>(sum / static_cast<double>(seen)));
  }
};

}  // namespace

std::unique_ptr<Quantizer> MakeWindowMeanAbsMax() {
  return std::make_unique<WindowMeanAbsMaxQuantizer>();
}

}  // namespace fixpoint
