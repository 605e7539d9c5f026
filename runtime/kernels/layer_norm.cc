#include "runtime/kernels/layer_norm.h"

#include <glog/logging.h>

#include <algorithm>
#include <initializer_list>

#include "proto/base/status_macros.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/normal.h"
#include "runtime/kernels/parallel_for.h"
#include "runtime/kernels/scale_and_bias.h"

namespace fixpoint::kernels {
namespace {

class PlannedLayerNorm final : public LayerNorm {
 public:
  explicit PlannedLayerNorm(const LayerNormShape& shape)
      : shape_(shape),
        pieces_(std::min(shape.rows, PiecesOf(shape.size()))),
        scale_and_bias_(shape.width, pieces_) {}

  void Forward(absl::Span<const float> x, absl::Span<const float> scale,
               absl::Span<const float> bias, absl::Span<float> y, absl::Span<float> mean,
               absl::Span<float> variance) override {
    CheckSizes({x, y}, {mean, variance});
    NormalizeRows(x, scale, bias, y, mean.data(), variance.data());
  }

  void Normalize(absl::Span<const float> x, absl::Span<const float> scale,
                 absl::Span<const float> bias, absl::Span<float> y) const override {
    CHECK_EQ(y.size(), x.size());
    NormalizeRows(x, scale, bias, y, /*means=*/nullptr, /*variances=*/nullptr);
  }

  // With n = (x - mean) / deviation and g = dy * scale: dx = (g - mean(g) - n * mean(g * n)) /
  // deviation, the means over the row.
  void Backward(absl::Span<const float> x, absl::Span<const float> dy,
                absl::Span<const float> scale, absl::Span<float> dx, absl::Span<float> dscale,
                absl::Span<float> dbias) override {
    scale = scale_and_bias_.ScaleOf(scale);
    CheckSizes({x, dy, dx}, {});
    scale_and_bias_.ClearSums();
    ParallelFor(
        pieces_, 12 * shape_.size() / pieces_,
        [shape = shape_, pieces = pieces_, x_all = x.data(), dy_all = dy.data(),
         scale = scale.data(), dx_all = dx.data(), dscale_sums = scale_and_bias_.dscale_sums(),
         dbias_sums = scale_and_bias_.dbias_sums()](int64_t first, int64_t last) {
          const int64_t width = shape.width;
          for (int64_t piece = first; piece < last; ++piece) {
            double* const dscale = dscale_sums + piece * width;
            double* const dbias = dbias_sums + piece * width;
            for (int64_t r = shape.rows * piece / pieces; r < shape.rows * (piece + 1) / pieces;
                 ++r) {
              const float* const x = x_all + r * width;
              const float* const dy = dy_all + r * width;
              float* const dx = dx_all + r * width;
              // The variance of values from 1e19 on exceeds the range of floats, and so does the
              // mean of elements near the largest float.
              const Statistics row = StatisticsOf(x, width);
              const Normal normal(row.mean, row.variance, shape.epsilon);
              const float inverse = normal.InverseDeviation();
              const float mean_g = static_cast<float>(
                  LaneSum(width, [=](int64_t i) { return dy[i] * scale[i]; }) / width);
              const float mean_gn = static_cast<float>(
                  LaneSum(width, [=](int64_t i) { return dy[i] * scale[i] * normal(x[i]); }) /
                  width);
#pragma GCC ivdep  // dx may be dy
              for (int64_t i = 0; i < width; ++i) {
                const float n = normal(x[i]);
                const float gradient = dy[i];
                dscale[i] += static_cast<double>(gradient * n);
                dbias[i] += static_cast<double>(gradient);
                dx[i] = (gradient * scale[i] - mean_g - n * mean_gn) * inverse;
              }
            }
          }
        });
    scale_and_bias_.RoundSums(dscale, dbias);
  }

  std::string implementation() const override { return LoopsName(); }

 private:
  struct Statistics {
    double mean;
    double variance;
  };
  static Statistics StatisticsOf(const float* x, int64_t width) {
    const double mean = LaneSum(width, [=](int64_t i) { return x[i]; }) / width;
    const auto squared_distance = [=](int64_t i) {
      const double distance = static_cast<double>(x[i]) - mean;
      return distance * distance;
    };
    return {mean, LaneSum(width, squared_distance) / width};
  }

  // The statistics are not written where they are null.
  void NormalizeRows(absl::Span<const float> x_span, absl::Span<const float> scale,
                     absl::Span<const float> bias, absl::Span<float> y_span, float* means,
                     float* variances) const {
    const int64_t width = shape_.width;
    ParallelFor(static_cast<int64_t>(x_span.size()) / width, 8 * width,
                [=, epsilon = shape_.epsilon, x_all = x_span.data(), y_all = y_span.data(),
                 scale = scale_and_bias_.ScaleOf(scale).data(),
                 bias = scale_and_bias_.BiasOf(bias).data()](int64_t begin, int64_t end) {
                  for (int64_t r = begin; r < end; ++r) {
                    const float* const x = x_all + r * width;
                    float* const y = y_all + r * width;
                    const Statistics row = StatisticsOf(x, width);
                    if (means != nullptr) means[r] = static_cast<float>(row.mean);
                    if (variances != nullptr) variances[r] = static_cast<float>(row.variance);
                    const Normal normal(row.mean, row.variance, epsilon);
#pragma GCC ivdep  // y may be x
                    for (int64_t i = 0; i < width; ++i) y[i] = normal(x[i]) * scale[i] + bias[i];
                  }
                });
  }

  using Spans = std::initializer_list<absl::Span<const float>>;
  void CheckSizes(Spans elements, Spans of_rows) const {
    for (const auto& span : elements) CHECK_EQ(static_cast<int64_t>(span.size()), shape_.size());
    for (const auto& span : of_rows) CHECK_EQ(static_cast<int64_t>(span.size()), shape_.rows);
  }

  const LayerNormShape shape_;
  const int64_t pieces_;  // of rows
  ScaleAndBias scale_and_bias_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LayerNorm>> LayerNorm::Plan(const LayerNormShape& shape) {
  RETURN_IF_ERROR(CheckExtents("rows", {shape.rows, shape.width}));
  return std::make_unique<PlannedLayerNorm>(shape);
}

}  // namespace fixpoint::kernels
