// moving_average_sigma: a moving average of `sigmas` times the root mean square. A few outliers of
// an activation then cost the others no resolution. All of it in ops that PaddlePaddle has, so that
// PaddlePaddle trains the result:
//
//   square, reduce_mean, sqrt, scale        k * rms(x)
//   moving_average_abs_max_scale            its moving average
//   fake_quantize_moving_average_abs_max    codes of x at that range

#include "moving_average_sigma.h"

#include <cmath>
#include <vector>

#include "ops/quantizers/moving_average.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"

namespace out_of_tree {
namespace {

using ::fixpoint::Era;
using ::fixpoint::OpBuilder;
using ::fixpoint::OpDesc;
using ::fixpoint::QuantSpec;

class MovingAverageSigma final : public fixpoint::MovingAverageQuantizer {
 public:
  MovingAverageSigma()
      : MovingAverageQuantizer({{"sigmas", 4, 0.1, 100, "root mean squares that are kept"}}) {}

  absl::string_view name() const override { return "moving_average_sigma"; }
  absl::string_view doc() const override {
    return "A moving average of `sigmas` times the root mean square.";
  }

  std::vector<OpDesc> SummaryOps(const QuantSpec& spec, Era) const override {
    const float sigmas = static_cast<float>(Parameter(*this, spec, "sigmas"));
    return {OpBuilder("square").Input("X", kValue).Output("Out", "squares").Build(),
            OpBuilder("reduce_mean")
                .Input("X", "squares")
                .Output("Out", "variance")
                .Attr(fixpoint::MakeIntsAttr("dim", {0}))
                .Attr(fixpoint::MakeBoolAttr("keep_dim", false))
                .Attr(fixpoint::MakeBoolAttr("reduce_all", true))
                .Build(),
            OpBuilder("sqrt").Input("X", "variance").Output("Out", "sigma").Build(),
            OpBuilder("scale")
                .Input("X", "sigma")
                .Output("Out", "clip")
                .Attr(fixpoint::MakeFloatAttr("scale", sigmas))
                .Build()};
  }

 protected:
  float RangeOf(const QuantSpec& spec, absl::Span<const float> values) const override {
    double squares = 0;
    for (const float value : values) squares += static_cast<double>(value) * value;
    const double sigma = values.empty() ? 0 : std::sqrt(squares / values.size());
    return static_cast<float>(Parameter(*this, spec, "sigmas") * sigma);
  }
};

}  // namespace

std::unique_ptr<fixpoint::Quantizer> MakeMovingAverageSigma() {
  return std::make_unique<MovingAverageSigma>();
}

}  // namespace out_of_tree
