// moving_average_abs_max: an exponential moving average of the largest absolute value.
// The reference's fake_quantize_moving_average_abs_max and its fused form.

#include <memory>
#include <vector>

#include "ops/quant_math.h"
#include "ops/quantizer.h"
#include "ops/quantizers/moving_average.h"

namespace fixpoint {
namespace {

class MovingAverageAbsMaxQuantizer final : public MovingAverageQuantizer {
 public:
  absl::string_view name() const override { return "moving_average_abs_max"; }
  absl::string_view doc() const override {
    return "An exponential moving average of the largest absolute value.";
  }
  std::vector<OpDesc> SummaryOps(const QuantSpec&, Era) const override { return {}; }

 protected:
  float RangeOf(const QuantSpec& spec, absl::Span<const float> values) const override {
    return AbsMax(values, Parameter(*this, spec, "skip_non_finite") != 0);
  }
};

}  // namespace

std::unique_ptr<Quantizer> MakeMovingAverageAbsMax() {
  return std::make_unique<MovingAverageAbsMaxQuantizer>();
}

}  // namespace fixpoint
