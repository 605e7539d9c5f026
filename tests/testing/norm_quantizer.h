// A user's own quantizer: it follows a number that ops of the reference make of the tensor, where
// the built-in ones follow the tensor itself.

#ifndef FIXPOINT_TESTS_TESTING_NORM_QUANTIZER_H_
#define FIXPOINT_TESTS_TESTING_NORM_QUANTIZER_H_

#include <cmath>
#include <vector>

#include "ops/quantizers/moving_average.h"
#include "proto/program/op_builder.h"

namespace fixpoint {

// A moving average of the L2 norm.
class NormQuantizer : public MovingAverageQuantizer {
 public:
  absl::string_view name() const override { return "norm"; }
  absl::string_view doc() const override { return "A moving average of the L2 norm."; }
  std::vector<OpDesc> SummaryOps(const QuantSpec&, Era) const override {
    return {OpBuilder("squared_l2_norm").Input("X", kValue).Output("Out", "squared").Build(),
            OpBuilder("sqrt").Input("X", "squared").Output("Out", "norm").Build()};
  }

 protected:
  float RangeOf(const QuantSpec&, absl::Span<const float> values) const override {
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value) * value;
    return static_cast<float>(std::sqrt(sum));
  }
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_NORM_QUANTIZER_H_
