// row_wise_min_max: a step and a zero point for each row of a weight, from its own smallest and
// largest value, like Glow's RowwiseQuantizedFullyConnected (Rotem et al. 2018, arXiv 1805.00907).
// A row holds the weights of one output, or is one entry of a table.
// Ops of Fixpoint's own, fake_row_wise_quantize_min_max and fake_row_wise_dequantize.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "ops/affine_codes.h"
#include "ops/code_range.h"
#include "ops/quantizer.h"

namespace fixpoint {
namespace {

class RowWiseMinMaxQuantizer final : public Quantizer {
 public:
  absl::string_view name() const override { return "row_wise_min_max"; }
  absl::string_view doc() const override {
    return "A step and a zero point for each row of a weight: its smallest and its largest value.";
  }
  QuantSpec::Granularity granularity() const override { return QuantSpec::PER_CHANNEL; }
  QuantSpec::Scheme scheme() const override { return QuantSpec::AFFINE; }
  bool is_dynamic() const override { return true; }

  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }

  void AddQuantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    op.IntAttr("bit_length", spec.bits())
        .IntAttr("round_type", RoundTypeOf(spec.rounding()))
        .IntAttr("quant_axis", spec.axis());
  }
  void AddDequantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    op.IntAttr("quant_axis", spec.axis());
  }
  double InitialValue(const QuantizerState&, const QuantSpec&) const override { return 0; }

  // Observes one row's values, whose range is widened to contain 0; values that are not finite are
  // ignored. The state is the zero point. Returns the step.
  float Observe(const QuantSpec& spec, absl::Span<const float> values,
                absl::Span<const absl::Span<float>> state, int64_t) const override {
    float min = 0;
    float max = 0;
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      min = std::min(min, value);
      max = std::max(max, value);
    }
    // The op makes signed codes alone.
    const AffineParams params =
        AffineParamsOf(min, max, AffineCodes(spec.bits(), /*is_unsigned=*/false, spec.rounding()));
    state[0][0] = params.zero_point;
    return params.step;
  }

 private:
  static std::vector<QuantizerRecipe> Recipes() {
    QuantizerRecipe recipe;
    recipe.quantize_op = "fake_row_wise_quantize_min_max";
    recipe.dequantize_op = "fake_row_wise_dequantize";
    recipe.reference_runs_it = false;
    recipe.zero_point_output = "OutZeroPoint";
    recipe.zero_point_input_of_dequantize = "ZeroPoint";
    QuantizerState zero_point;
    zero_point.name = "zero_point";
    zero_point.dtype = VarType::INT32;
    zero_point.extent = QuantizerState::Extent::kChannels;
    zero_point.output = "OutZeroPoint";
    recipe.state = {zero_point};
    return {recipe};
  }

  const std::vector<QuantizerRecipe> recipes_ = Recipes();
};

}  // namespace

std::unique_ptr<Quantizer> MakeRowWiseMinMax() {
  return std::make_unique<RowWiseMinMaxQuantizer>();
}

}  // namespace fixpoint
