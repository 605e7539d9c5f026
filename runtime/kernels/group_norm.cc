#include "runtime/kernels/group_norm.h"

#include <glog/logging.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/normal.h"
#include "runtime/kernels/parallel_for.h"
#include "runtime/kernels/scale_and_bias.h"

namespace fixpoint::kernels {
namespace {

// sums[c] = the sum of term(c, i) over the places i of an image's channel c.
template <typename Term>
void SumChannels(const GroupNormShape& shape, double* sums, Term term) {
  const int64_t channels = shape.channels;
  const int64_t places = shape.places;
  if (!shape.channels_last) {
    for (int64_t c = 0; c < channels; ++c) {
      sums[c] = LaneSum(places, [=](int64_t p) { return term(c, c * places + p); });
    }
    return;
  }
  for (int64_t c = 0; c < channels; ++c) sums[c] = 0;
  for (int64_t p = 0; p < places; ++p) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      sums[c] += static_cast<double>(term(c, p * channels + c));
    }
  }
}

// to[i] = value(c, i) for each place i of an image's channel c; `to` may be what `value` reads.
template <typename Value>
void MapChannels(const GroupNormShape& shape, float* to, Value value) {
  const int64_t channels = shape.channels;
  const int64_t places = shape.places;
  if (!shape.channels_last) {
    for (int64_t c = 0; c < channels; ++c) {
#pragma GCC ivdep
      for (int64_t i = c * places; i < (c + 1) * places; ++i) to[i] = value(c, i);
    }
    return;
  }
  for (int64_t first = 0; first < places * channels; first += channels) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) to[first + c] = value(c, first + c);
  }
}

class PlannedGroupNorm final : public GroupNorm {
 public:
  explicit PlannedGroupNorm(const GroupNormShape& shape)
      : shape_(shape),
        scale_and_bias_(shape.channels, shape.batch),
        images_(shape.batch, Image(shape)) {}

  void Forward(absl::Span<const float> x, absl::Span<const float> scale,
               absl::Span<const float> bias, absl::Span<float> y, absl::Span<float> mean,
               absl::Span<float> variance) override {
    scale = scale_and_bias_.ScaleOf(scale);
    bias = scale_and_bias_.BiasOf(bias);
    CheckSizes({x, y});
    CHECK_EQ(static_cast<int64_t>(mean.size()), shape_.batch * shape_.groups);
    CHECK_EQ(mean.size(), variance.size());
    ForEachImage(8, [=, x = x.data(), y = y.data(), scale = scale.data(), bias = bias.data(),
                     mean = mean.data(), variance = variance.data()](const GroupNormShape& shape,
                                                                     int64_t n, Image* image) {
      const int64_t group = n * shape.groups;
      const int64_t start = n * shape.channels * shape.places;
      FindStatistics(shape, x + start, image, mean + group, variance + group);
      MapChannels(shape, y + start,
                  [x = x + start, scale, bias, normals = image->normals.data()](
                      int64_t c, int64_t i) { return normals[c](x[i]) * scale[c] + bias[c]; });
    });
  }

  void Backward(absl::Span<const float> x, absl::Span<const float> dy,
                absl::Span<const float> scale, absl::Span<float> dx, absl::Span<float> dscale,
                absl::Span<float> dbias) override {
    scale = scale_and_bias_.ScaleOf(scale);
    CheckSizes({x, dy, dx});
    ForEachImage(12, [=, all_x = x.data(), all_dy = dy.data(), all_dx = dx.data(),
                      scale = scale.data(), all_dscale = scale_and_bias_.dscale_sums(),
                      all_dbias = scale_and_bias_.dbias_sums()](const GroupNormShape& shape,
                                                                int64_t n, Image* image) {
      const int64_t start = n * shape.channels * shape.places;
      const float* const x = all_x + start;
      const float* const dy = all_dy + start;
      double* const dscale = all_dscale + n * shape.channels;
      double* const dbias = all_dbias + n * shape.channels;
      FindStatistics(shape, x, image, image->group_means.data(), image->group_variances.data());
      FindGradients(
          shape,
          [x, normals = image->normals.data()](int64_t c, int64_t i) { return normals[c](x[i]); },
          dy, scale, image, all_dx + start, dscale, dbias);
    });
    scale_and_bias_.RoundSums(dscale, dbias);
  }

  void BackwardFromOutput(absl::Span<const float> y, absl::Span<const float> variance,
                          absl::Span<const float> dy, absl::Span<const float> scale,
                          absl::Span<const float> bias, absl::Span<float> dx,
                          absl::Span<float> dscale, absl::Span<float> dbias) override {
    scale = scale_and_bias_.ScaleOf(scale);
    bias = scale_and_bias_.BiasOf(bias);
    CheckSizes({y, dy, dx});
    CHECK_EQ(static_cast<int64_t>(variance.size()), shape_.batch * shape_.groups);
    ForEachImage(
        12, [=, all_y = y.data(), variance = variance.data(), all_dy = dy.data(),
             all_dx = dx.data(), scale = scale.data(), bias = bias.data(),
             all_dscale = scale_and_bias_.dscale_sums(), all_dbias = scale_and_bias_.dbias_sums()](
                const GroupNormShape& shape, int64_t n, Image* image) {
          const int64_t start = n * shape.channels * shape.places;
          ForEachGroup(shape, [=](int64_t first, int64_t end, int64_t group) {
            Fill(&image->normals, first, end,
                 Normal(0, variance[n * shape.groups + group], shape.epsilon));
          });
          FindGradients(
              shape,
              [y = all_y + start, scale, bias](int64_t c, int64_t i) {
                return scale[c] != 0 ? (y[i] - bias[c]) / scale[c] : 0.0f;
              },
              all_dy + start, scale, image, all_dx + start, all_dscale + n * shape.channels,
              all_dbias + n * shape.channels);
        });
    scale_and_bias_.RoundSums(dscale, dbias);
  }

  std::string implementation() const override { return LoopsName(); }

 private:
  // The sums of an image, by channel and by group.
  struct Image {
    explicit Image(const GroupNormShape& shape)
        : sums(shape.channels),
          means(shape.channels),
          normals(shape.channels),
          mean_g(shape.channels),
          mean_gn(shape.channels),
          group_means(shape.groups),
          group_variances(shape.groups) {}

    std::vector<double> sums;
    std::vector<double> means;
    std::vector<Normal> normals;
    std::vector<float> mean_g;
    std::vector<float> mean_gn;
    std::vector<float> group_means;
    std::vector<float> group_variances;
  };

  // Calls f(shape, n, image) with each image, as ParallelFor.
  template <typename F>
  void ForEachImage(int64_t bytes_of_each, F f) {
    ParallelFor(shape_.batch, bytes_of_each * shape_.channels * shape_.places,
                [=, shape = shape_, images = images_.data()](int64_t begin, int64_t end) {
                  for (int64_t n = begin; n < end; ++n) f(shape, n, &images[n]);
                });
  }

  // Calls f(first, end, group) with the channels of each group.
  template <typename F>
  static void ForEachGroup(const GroupNormShape& shape, F f) {
    const int64_t size = shape.channels / shape.groups;
    for (int64_t g = 0; g < shape.groups; ++g) f(g * size, (g + 1) * size, g);
  }

  template <typename T>
  static void Fill(std::vector<T>* channels, int64_t first, int64_t end, T value) {
    std::fill(channels->begin() + first, channels->begin() + end, value);
  }

  // The mean over the elements of a group, from the sums of its channels.
  template <typename SumOf>
  static double Mean(const GroupNormShape& shape, int64_t first, int64_t end, SumOf sum_of) {
    double sum = 0;
    for (int64_t c = first; c < end; ++c) sum += sum_of(c);
    return sum / static_cast<double>((end - first) * shape.places);
  }

  // With n = (x - mean) / deviation, `normal(c, i)` of channel c, and g = dy * scale: dx = (g -
  // mean(g) - n * mean(g * n)) / deviation, the means over the group.
  template <typename NormalAt>
  static void FindGradients(const GroupNormShape& shape, NormalAt normal, const float* dy,
                            const float* scale, Image* image, float* dx, double* dscale,
                            double* dbias) {
    SumChannels(shape, dbias, [=](int64_t, int64_t i) { return dy[i]; });
    SumChannels(shape, dscale, [=](int64_t c, int64_t i) { return dy[i] * normal(c, i); });
    ForEachGroup(shape, [=](int64_t first, int64_t end, int64_t) {
      const auto mean_of = [=](const double* sums) {
        return static_cast<float>(
            Mean(shape, first, end, [=](int64_t c) { return sums[c] * scale[c]; }));
      };
      Fill(&image->mean_g, first, end, mean_of(dbias));
      Fill(&image->mean_gn, first, end, mean_of(dscale));
    });
    MapChannels(shape, dx,
                [=, normals = image->normals.data(), mean_g = image->mean_g.data(),
                 mean_gn = image->mean_gn.data()](int64_t c, int64_t i) {
                  return (dy[i] * scale[c] - mean_g[c] - normal(c, i) * mean_gn[c]) *
                         normals[c].InverseDeviation();
                });
  }

  // The statistics of an image's groups; and for each channel what its group does to an element.
  static void FindStatistics(const GroupNormShape& shape, const float* x, Image* image, float* mean,
                             float* variance) {
    const auto sum_of = [image](int64_t c) { return image->sums[c]; };
    SumChannels(shape, image->sums.data(), [=](int64_t, int64_t i) { return x[i]; });
    ForEachGroup(shape, [=](int64_t first, int64_t end, int64_t) {
      Fill(&image->means, first, end, Mean(shape, first, end, sum_of));
    });
    SumChannels(shape, image->sums.data(), [x, means = image->means.data()](int64_t c, int64_t i) {
      const double distance = static_cast<double>(x[i]) - means[c];
      return distance * distance;
    });
    ForEachGroup(shape, [=](int64_t first, int64_t end, int64_t group) {
      const double mean_square = Mean(shape, first, end, sum_of);
      mean[group] = static_cast<float>(image->means[first]);
      variance[group] = static_cast<float>(mean_square);
      Fill(&image->normals, first, end, Normal(image->means[first], mean_square, shape.epsilon));
    });
  }

  void CheckSizes(std::initializer_list<absl::Span<const float>> elements) const {
    for (const auto& span : elements) CHECK_EQ(static_cast<int64_t>(span.size()), shape_.size());
  }

  const GroupNormShape shape_;
  ScaleAndBias scale_and_bias_;
  std::vector<Image> images_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GroupNorm>> GroupNorm::Plan(const GroupNormShape& shape) {
  RETURN_IF_ERROR(CheckExtents("images", {shape.batch, shape.channels, shape.places}));
  if (shape.groups < 1 || shape.channels % shape.groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(shape.groups, " groups of ", shape.channels,
                                                   " channels; want a divisor of them"));
  }
  return std::make_unique<PlannedGroupNorm>(shape);
}

}  // namespace fixpoint::kernels
