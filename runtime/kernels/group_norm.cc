#include "runtime/kernels/group_norm.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/scale_and_bias.h"
#include "runtime/kernels/vectorised.h"

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
        scale_and_bias_(shape.channels),
        sums_(shape.channels),
        product_sums_(shape.channels),
        means_(shape.channels),
        centers_(shape.channels),
        inverses_(shape.channels),
        mean_g_(shape.channels),
        mean_gn_(shape.channels),
        group_means_(shape.groups),
        group_variances_(shape.groups) {}

  void Forward(absl::Span<const float> x, absl::Span<const float> scale,
               absl::Span<const float> bias, absl::Span<float> y, absl::Span<float> mean,
               absl::Span<float> variance) override {
    scale = scale_and_bias_.ScaleOf(scale);
    bias = scale_and_bias_.BiasOf(bias);
    CheckSizes({x, y});
    CHECK_EQ(static_cast<int64_t>(mean.size()), shape_.batch * shape_.groups);
    CHECK_EQ(mean.size(), variance.size());
    const int64_t image = shape_.channels * shape_.places;
    for (int64_t n = 0; n < shape_.batch; ++n) {
      const int64_t group = n * shape_.groups;
      FindStatistics(x.data() + n * image, mean.data() + group, variance.data() + group);
      Vectorised([shape = shape_, x = x.data() + n * image, y = y.data() + n * image,
                  scale = scale.data(), bias = bias.data(), centers = centers_.data(),
                  inverses = inverses_.data()] {
        MapChannels(shape, y, [=](int64_t c, int64_t i) {
          return (x[i] - centers[c]) * inverses[c] * scale[c] + bias[c];
        });
      });
    }
  }

  // With n = (x - mean) / deviation and g = dy * scale: dx = (g - mean(g) - n * mean(g * n)) /
  // deviation, the means over the group.
  void Backward(absl::Span<const float> x, absl::Span<const float> dy,
                absl::Span<const float> scale, absl::Span<float> dx, absl::Span<float> dscale,
                absl::Span<float> dbias) override {
    scale = scale_and_bias_.ScaleOf(scale);
    CheckSizes({x, dy, dx});
    scale_and_bias_.ClearSums();
    const int64_t image = shape_.channels * shape_.places;
    for (int64_t n = 0; n < shape_.batch; ++n) {
      const float* const images = x.data() + n * image;
      const float* const gradients = dy.data() + n * image;
      FindStatistics(images, group_means_.data(), group_variances_.data());
      Vectorised([shape = shape_, x = images, dy = gradients, centers = centers_.data(),
                  inverses = inverses_.data(), sums = sums_.data(),
                  product_sums = product_sums_.data()] {
        SumChannels(shape, sums, [=](int64_t, int64_t i) { return dy[i]; });
        SumChannels(shape, product_sums, [=](int64_t c, int64_t i) {
          return dy[i] * ((x[i] - centers[c]) * inverses[c]);
        });
      });
      for (int64_t c = 0; c < shape_.channels; ++c) {
        scale_and_bias_.dbias_sums()[c] += sums_[c];
        scale_and_bias_.dscale_sums()[c] += product_sums_[c];
        sums_[c] *= scale[c];
        product_sums_[c] *= scale[c];
      }
      ForEachGroup([&](int64_t first, int64_t end, int64_t) {
        Fill(&mean_g_, first, end, static_cast<float>(Mean(sums_, first, end)));
        Fill(&mean_gn_, first, end, static_cast<float>(Mean(product_sums_, first, end)));
      });
      Vectorised([shape = shape_, x = images, dy = gradients, dx = dx.data() + n * image,
                  scale = scale.data(), centers = centers_.data(), inverses = inverses_.data(),
                  mean_g = mean_g_.data(), mean_gn = mean_gn_.data()] {
        MapChannels(shape, dx, [=](int64_t c, int64_t i) {
          const float normal = (x[i] - centers[c]) * inverses[c];
          return (dy[i] * scale[c] - mean_g[c] - normal * mean_gn[c]) * inverses[c];
        });
      });
    }
    scale_and_bias_.RoundSums(dscale, dbias);
  }

  std::string implementation() const override { return LoopsName(); }

 private:
  // Calls f(first, end, group) with the channels of each group.
  template <typename F>
  void ForEachGroup(F f) const {
    const int64_t size = shape_.channels / shape_.groups;
    for (int64_t g = 0; g < shape_.groups; ++g) f(g * size, (g + 1) * size, g);
  }

  template <typename T>
  static void Fill(std::vector<T>* channels, int64_t first, int64_t end, T value) {
    std::fill(channels->begin() + first, channels->begin() + end, value);
  }

  // Of the elements of a group, from the sums of its channels.
  double Mean(const std::vector<double>& sums, int64_t first, int64_t end) const {
    double sum = 0;
    for (int64_t c = first; c < end; ++c) sum += sums[c];
    return sum / static_cast<double>((end - first) * shape_.places);
  }

  // Of the groups of an image; and for each channel its group's mean and inverse deviation.
  void FindStatistics(const float* x, float* mean, float* variance) {
    Vectorised([shape = shape_, x, sums = sums_.data()] {
      SumChannels(shape, sums, [=](int64_t, int64_t i) { return x[i]; });
    });
    ForEachGroup([&](int64_t first, int64_t end, int64_t) {
      Fill(&means_, first, end, Mean(sums_, first, end));
    });
    Vectorised([shape = shape_, x, means = means_.data(), sums = sums_.data()] {
      SumChannels(shape, sums, [=](int64_t c, int64_t i) {
        const double distance = static_cast<double>(x[i]) - means[c];
        return distance * distance;
      });
    });
    ForEachGroup([&](int64_t first, int64_t end, int64_t group) {
      mean[group] = static_cast<float>(means_[first]);
      variance[group] = static_cast<float>(Mean(sums_, first, end));
      const double deviation = std::sqrt(static_cast<double>(variance[group]) + shape_.epsilon);
      Fill(&centers_, first, end, mean[group]);
      Fill(&inverses_, first, end, static_cast<float>(1 / deviation));
    });
  }

  void CheckSizes(std::initializer_list<absl::Span<const float>> elements) const {
    for (const auto& span : elements) CHECK_EQ(static_cast<int64_t>(span.size()), shape_.size());
  }

  const GroupNormShape shape_;
  ScaleAndBias scale_and_bias_;
  // One for each channel.
  std::vector<double> sums_;
  std::vector<double> product_sums_;
  std::vector<double> means_;
  std::vector<float> centers_;
  std::vector<float> inverses_;
  std::vector<float> mean_g_;
  std::vector<float> mean_gn_;
  // One for each group.
  std::vector<float> group_means_;
  std::vector<float> group_variances_;
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
