// channel_wise_abs_max: one range per channel of a weight, its own largest absolute value.
// The reference's fake_channel_wise_quantize_abs_max (Krishnamoorthi 2018, arXiv 1806.08342, §2.4).

#include <memory>
#include <vector>

#include "ops/quant_math.h"
#include "ops/quantizer.h"
#include "ops/quantizers/abs_max_attrs.h"
#include "ops/quantizers/power_of_two_steps.h"

namespace fixpoint {
namespace {

class ChannelWiseAbsMaxQuantizer final : public Quantizer {
 public:
  absl::string_view name() const override { return "channel_wise_abs_max"; }
  absl::string_view doc() const override {
    return "One range per output channel of a weight: the channel's largest absolute value.";
  }
  QuantSpec::Granularity granularity() const override { return QuantSpec::PER_CHANNEL; }
  bool is_dynamic() const override { return true; }
  // Fluid's ops have no quant_axis and use axis 0.
  absl::Span<const int> axes(Era era) const override {
    static constexpr int kAxes[] = {0, 1};
    return absl::MakeConstSpan(kAxes, era == Era::kFluid ? 1 : 2);
  }

  absl::Span<const QuantizerParameter> parameters() const override { return parameters_; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }

  void AddQuantizeAttrs(const QuantSpec& spec, Era era, OpBuilder& op) const override {
    AddSymmetricQuantizeAttrs(spec, op);
    AddPowerOfTwoAttr(*this, spec, op);
    if (era == Era::kPaddle2) op.IntAttr("quant_axis", spec.axis());
  }
  void AddDequantizeAttrs(const QuantSpec& spec, Era era, OpBuilder& op) const override {
    op.IntsAttr("quant_bits", {BitLength(spec)});
    if (era == Era::kPaddle2) op.IntAttr("quant_axis", spec.axis());
  }
  void ReadParameters(const OpDesc& quantize, QuantSpec* spec) const override {
    ReadPowerOfTwoAttr(quantize, spec);
  }
  double InitialValue(const QuantizerState&, const QuantSpec&) const override { return 0; }

  // Observes one channel's values.
  float Observe(const QuantSpec& spec, absl::Span<const float> values,
                absl::Span<const absl::Span<float>>, int64_t) const override {
    return WidenedRange(*this, spec, AbsMax(values));
  }

 private:
  static std::vector<QuantizerRecipe> Recipes() {
    QuantizerRecipe separate;
    separate.quantize_op = "fake_channel_wise_quantize_abs_max";
    separate.dequantize_op = "fake_channel_wise_dequantize_max_abs";
    separate.scale_input_of_dequantize = "Scales";
    QuantizerRecipe fused;
    fused.form = QuantSpec::FUSED;
    fused.quantize_op = "fake_channel_wise_quantize_dequantize_abs_max";
    fused.eras = Eras::kPaddle2;
    return {separate, fused};
  }

  const std::vector<QuantizerParameter> parameters_ = {PowerOfTwoStepsParameter()};
  const std::vector<QuantizerRecipe> recipes_ = Recipes();
};

}  // namespace

std::unique_ptr<Quantizer> MakeChannelWiseAbsMax() {
  return std::make_unique<ChannelWiseAbsMaxQuantizer>();
}

}  // namespace fixpoint
