// lsq: a range that gradient descent finds together with the weights. Learned Step Size
// Quantization (Esser et al. 2020, arXiv 1902.08153), in ops of Fixpoint's own; the reference has
// none.
//
// The trained state is the range r = s * n, where s is the paper's step and n the largest code:
// every quantizer stores a range, and a frozen program reads it. Its gradient is scaled so that s
// moves as in the paper, under gradient descent with or without momentum (docs/quantizers/lsq.md).

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "ops/code_range.h"
#include "ops/quant_math.h"
#include "ops/quantizer.h"
#include "ops/quantizers/abs_max_attrs.h"
#include "ops/quantizers/carried_state.h"

namespace fixpoint {
namespace {

class LsqQuantizer final : public Quantizer {
 public:
  explicit LsqQuantizer(QuantSpec::Granularity granularity)
      : granularity_(granularity), recipes_({Recipe(granularity)}) {}

  absl::string_view name() const override { return per_channel() ? "channel_wise_lsq" : "lsq"; }
  absl::string_view doc() const override {
    return per_channel() ? "lsq with a range for each output channel of a weight."
                         : "A range that gradient descent finds (Learned Step Size Quantization).";
  }
  QuantSpec::Granularity granularity() const override { return granularity_; }
  bool is_dynamic() const override { return false; }
  // The axes that the frozen program's ops can have.
  absl::Span<const int> axes(Era) const override {
    static constexpr int kAxes[] = {0, 1};
    return kAxes;
  }
  absl::Span<const QuantizerParameter> parameters() const override { return parameters_; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }

  void AddQuantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    AddSymmetricQuantizeAttrs(spec, op);
    if (per_channel()) op.IntAttr("quant_axis", spec.axis());
  }
  void AddDequantizeAttrs(const QuantSpec&, Era, OpBuilder&) const override {}
  double InitialValue(const QuantizerState&, const QuantSpec&) const override { return 0; }
  double ValueOfRange(const QuantizerState& state, const QuantSpec& spec, float min,
                      float max) const override {
    return state.name == kInitialized ? 1 : Quantizer::ValueOfRange(state, spec, min, max);
  }

  std::vector<OpDesc> GradientOps(const QuantSpec& spec, SlotRole::Role role,
                                  Era era) const override {
    OpBuilder op(recipes_.front().quantize_op + "_grad");
    op.Input("X", kValue)
        .Input("OutScale", kScale)
        .Input("Out@GRAD", kResultGradient)
        .Output("X@GRAD", kValueGradient)
        .Output("InScale@GRAD", GradientOf(recipes_.front().state.front()));
    AddQuantizeAttrs(spec, era, op);
    op.BoolAttr("per_sample", role == SlotRole::ACTIVATION);
    return {op.Build()};
  }

  // Gradient descent with momentum. An update that would more than halve a range halves it, so that
  // it stays positive.
  std::vector<OpDesc> UpdateOps(const QuantSpec& spec, Era) const override {
    constexpr float kSmallest = 1e-20f;
    return {OpBuilder("scale")
                .Input("X", kScale)
                .Output("Out", "lower_bound")
                .FloatAttr("scale", 0.5f)
                .FloatAttr("bias", kSmallest)
                .Build(),
            OpBuilder("momentum")
                .Input("Param", kScale)
                .Input("Grad", GradientOf(recipes_.front().state.front()))
                .Input("Velocity", kVelocity)
                .Input("LearningRate", kLearningRate)
                .Output("ParamOut", kScale)
                .Output("VelocityOut", kVelocity)
                .FloatAttr("mu", static_cast<float>(Parameter(*this, spec, "momentum")))
                .Build(),
            OpBuilder("elementwise_max")
                .Input("X", kScale)
                .Input("Y", "lower_bound")
                .Output("Out", kScale)
                .IntAttr("axis", -1)
                .Build()};
  }

  // States: scale, initialized, velocity, [1] each. Finds the first range and does not change it
  // after that.
  float Observe(const QuantSpec& spec, absl::Span<const float> values,
                absl::Span<const absl::Span<float>> state, int64_t) const override {
    float& range = state[0][0];
    float& initialized = state[1][0];
    if (initialized != 0) return range;
    double sum = 0;
    for (const float value : values) sum += std::fabs(value);
    const double mean = values.empty() ? 0 : sum / static_cast<double>(values.size());
    const FirstRange first = FirstRangeOf(mean, CodeRangeOf(spec).largest);
    initialized = first.is_found ? 1 : 0;
    return range = first.range;
  }

 private:
  static constexpr char kScale[] = "scale";
  static constexpr char kInitialized[] = "initialized";
  static constexpr char kVelocity[] = "velocity";

  bool per_channel() const { return granularity_ == QuantSpec::PER_CHANNEL; }

  static QuantizerRecipe Recipe(QuantSpec::Granularity granularity) {
    const bool per_channel = granularity == QuantSpec::PER_CHANNEL;
    QuantizerRecipe recipe;
    recipe.form = QuantSpec::FUSED;
    recipe.quantize_op =
        per_channel ? "fake_channel_wise_quantize_dequantize_lsq" : "fake_quantize_dequantize_lsq";
    recipe.reference_runs_it = false;
    recipe.has_is_test = true;
    QuantizerState scale = CarriedScale(recipe.quantize_op);
    scale.is_trained = true;
    QuantizerState initialized = CarriedState(kInitialized, recipe.quantize_op, "OutInitialized");
    initialized.begins_with_quantization = true;
    QuantizerState velocity;
    velocity.name = kVelocity;
    velocity.training_only = true;
    recipe.state = {scale, initialized, velocity};
    for (QuantizerState& state : recipe.state) {
      if (per_channel) state.extent = QuantizerState::Extent::kChannels;
    }
    return recipe;
  }

  const QuantSpec::Granularity granularity_;
  const std::vector<QuantizerParameter> parameters_ = {
      {"momentum", 0.9, 0, 1, "share of its last update that an update of the range goes on with"}};
  const std::vector<QuantizerRecipe> recipes_;
};

}  // namespace

std::unique_ptr<Quantizer> MakeLsq() {
  return std::make_unique<LsqQuantizer>(QuantSpec::PER_TENSOR);
}

std::unique_ptr<Quantizer> MakeChannelWiseLsq() {
  return std::make_unique<LsqQuantizer>(QuantSpec::PER_CHANNEL);
}

}  // namespace fixpoint
