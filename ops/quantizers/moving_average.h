// What the quantizers over an exponential moving average share: state, slots and, for those that
// follow one number per tensor, everything but their name and the number.

#ifndef FIXPOINT_OPS_QUANTIZERS_MOVING_AVERAGE_H_
#define FIXPOINT_OPS_QUANTIZERS_MOVING_AVERAGE_H_

#include <string>
#include <vector>

#include "ops/quantizer.h"

namespace fixpoint {

// A symmetric quantizer whose range is an exponential moving average, in the reference's ops:
// fake_quantize_moving_average_abs_max, its fused form, and moving_average_abs_max_scale as
// observer. States: scale, state, accum, [1] each.
class MovingAverageQuantizer : public Quantizer {
 public:
  bool is_dynamic() const override { return false; }
  absl::Span<const QuantizerParameter> parameters() const override { return parameters_; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }
  absl::Span<const QuantizerRecipe> observers() const override { return observers_; }

  void AddQuantizeAttrs(const QuantSpec& spec, Era era, OpBuilder& op) const override;
  void AddDequantizeAttrs(const QuantSpec& spec, Era era, OpBuilder& op) const override;
  void AddObserverAttrs(const QuantSpec& spec, OpBuilder& op) const override;
  double InitialValue(const QuantizerState& state, const QuantSpec& spec) const override;
  double ValueOfRange(const QuantizerState& state, const QuantSpec& spec, float min,
                      float max) const override;
  float Observe(const QuantSpec& spec, absl::Span<const float> values,
                absl::Span<const absl::Span<float>> state, int64_t step) const override;
  // Has no default here: a program must compute the number that RangeOf gives to Observe.
  std::vector<OpDesc> SummaryOps(const QuantSpec& spec, Era era) const override = 0;

 protected:
  // `parameters` are added to moving_rate, initial_state, initial_scale, skip_non_finite and
  // power_of_two_steps.
  explicit MovingAverageQuantizer(const std::vector<QuantizerParameter>& parameters = {});

  // The number whose moving average is the range: what SummaryOps compute from the tensor, or its
  // largest absolute value if there are none.
  virtual float RangeOf(const QuantSpec& spec, absl::Span<const float> values) const = 0;

 private:
  // How the range is followed: what the quantize op and the observer share.
  void AddFollowingAttrs(const QuantSpec& spec, OpBuilder& op) const;

  std::vector<QuantizerParameter> parameters_;
  std::vector<QuantizerRecipe> recipes_;
  std::vector<QuantizerRecipe> observers_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_MOVING_AVERAGE_H_
