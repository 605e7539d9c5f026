// Batch, layer, instance and group norm, dropout and dither.

#include <algorithm>
#include <cmath>

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

float SomeEpsilon(CaseMaker& c) { return c.OneOf({1e-05f, 0.001f, 0.1f}); }

// The largest |x * a| of a batch norm, which computes x * a + b with a = scale / sqrt(variance +
// epsilon) of a channel and b = bias - mean * a: where a channel's elements are much the same, far
// more than what comes out.
double LargestProduct(const Tensor& x, const Tensor& scale, int channel_axis, float epsilon) {
  const int64_t channels = scale.size();
  int64_t inner = 1;
  for (size_t axis = channel_axis + 1; axis < x.dims().size(); ++axis) inner *= x.dims()[axis];
  std::vector<double> sums(channels, 0);
  std::vector<double> squares(channels, 0);
  std::vector<double> largest(channels, 0);
  const auto count = static_cast<double>(x.size()) / static_cast<double>(channels);
  const auto for_each = [&](auto visit) {
    for (int64_t i = 0; i < x.size(); ++i) visit(i / inner % channels, x.data<float>()[i]);
  };
  for_each([&](int64_t channel, double value) {
    sums[channel] += value / count;
    largest[channel] = std::max(largest[channel], std::fabs(value));
  });
  for_each([&](int64_t channel, double value) {
    squares[channel] += (value - sums[channel]) * (value - sums[channel]) / count;
  });
  double product = 0;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const double a = scale.data<float>()[channel] / std::sqrt(squares[channel] + epsilon);
    product = std::max(product, largest[channel] * std::fabs(a));
  }
  return product;
}

// The largest 1 / sqrt(variance + epsilon) of `rows` rows. Where the elements of a row cancel in
// its gradient, that has the rounding errors of what cancels: of the gradient of Y, which is below
// 1, times the scale and this.
double LargestInverseDeviation(const Tensor& x, int64_t rows, float epsilon) {
  const int64_t width = x.size() / rows;
  double largest = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const auto values = x.data<float>().subspan(row * width, width);
    double mean = 0;
    for (const float value : values) mean += static_cast<double>(value) / width;
    double variance = 0;
    for (const float value : values) variance += (value - mean) * (value - mean) / width;
    largest = std::max(largest, 1 / std::sqrt(variance + epsilon));
  }
  return largest;
}

void BatchNorm(CaseMaker& c) {
  const bool is_images = !c.OneIn(4);
  Dims dims = is_images ? c.SomeDims(4, 4) : c.SomeDims(2, 2, 20);
  const bool is_channels_last = is_images && c.OneIn(6);
  const int64_t channels = dims[is_channels_last ? 3 : 1];
  const std::string x = c.WideNumbers(dims, 12);
  const std::string scale = c.Numbers({channels});
  const std::string bias = c.Numbers({channels});
  const std::string mean = c.Numbers({channels});
  const std::string variance = c.Numbers({channels}, 0.1f, 2);
  const int mode = c.Between(0, 3);
  const float epsilon = SomeEpsilon(c);
  c.Op("batch_norm(X=", x, ", Scale=", scale, ", Bias=", bias, ", Mean=", mean,
       ", Variance=", variance, ") -> (Y=out, MeanOut=", mean, ", VarianceOut=", variance,
       ", SavedMean=saved_mean, SavedVariance=saved_variance) {epsilon=", FloatText(epsilon),
       ", momentum=", FloatText(c.Between(0.1f, 0.99f)),
       mode == 1   ? ", is_test=true"
       : mode == 2 ? ", use_global_stats=true"
                   : "",
       is_channels_last ? ", data_layout=\"NHWC\"" : "", "}");
  if (mode == 1) c.Fetch({"out"});
  if (mode != 1 && mode != 2) {
    c.Magnitude(LargestProduct(c.Input(x), c.Input(scale), is_channels_last ? 3 : 1, epsilon));
  }
  c.Sums(SizeOf(dims) / channels);
}

void FoldedBatchNorm(CaseMaker& c) {
  const Dims dims = c.OneIn(4) ? c.SomeDims(2, 2, 20) : c.SomeDims(4, 4);
  const int64_t channels = dims[1];
  const std::string folded = c.Numbers(dims);
  const std::string unfolded = c.Numbers(dims);
  const std::string deviation = c.Numbers({channels}, 0.5f, 2);
  const std::string scale = c.Numbers({channels});
  const std::string bias = c.Numbers({channels});
  const std::string mean = c.Numbers({channels});
  const std::string variance = c.Numbers({channels}, 0.1f, 2);
  const bool is_test = c.OneIn(4);
  const float epsilon = 0.1f;
  c.Op("folded_batch_norm(X=", folded, ", Unfolded=", unfolded, ", Deviation=", deviation,
       ", Scale=", scale, ", Bias=", bias, ", Mean=", mean, ", Variance=", variance,
       ") -> (Y=out, MeanOut=", mean, ", VarianceOut=", variance,
       ", SavedMean=saved_mean, SavedVariance=saved_variance) {epsilon=", FloatText(epsilon),
       ", momentum=", FloatText(c.Between(0.1f, 0.99f)), is_test ? ", is_test=true" : "", "}");
  if (is_test) c.Fetch({"out"});
  if (!is_test) c.Magnitude(LargestProduct(c.Input(unfolded), c.Input(scale), 1, epsilon));
  c.Sums(SizeOf(dims) / channels);
}

// Numbers above 0, of which sigma is no difference.
void SpectralNorm(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 4);
  const int axis = c.Between(0, static_cast<int>(dims.size()) - 1);
  const std::string weight = c.Numbers(dims, 0.1f, 2);
  const std::string u = c.Numbers({dims[axis]}, 0.1f, 1);
  c.Op("spectral_norm(Weight=", weight, ", U=", u,
       ", V=", c.Numbers({SizeOf(dims) / dims[axis]}, 0.1f, 1), ") -> (Out=out) {dim=", axis,
       ", power_iters=", c.Between(0, 3), "}");
  c.Sums(4 * SizeOf(dims));
  c.Move({weight});
}

void LayerNorm(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 4);
  const int axis = c.Between(1, static_cast<int>(dims.size()) - 1);
  const Dims normalized = {SizeOf(Dims(dims.begin() + axis, dims.end()))};
  const std::string x = c.WideNumbers(dims, 30);
  const std::string scale =
      c.OneIn(3) ? "" : absl::StrCat(", Scale=", c.Numbers(normalized, -2, 2));
  const std::string bias = c.OneIn(3) ? "" : absl::StrCat(", Bias=", c.Numbers(normalized));
  const float epsilon = SomeEpsilon(c);
  c.Op("layer_norm(X=", x, scale, bias,
       ") -> (Y=out, Mean=mean, Variance=variance) {epsilon=", FloatText(epsilon),
       ", begin_norm_axis=", axis, "}");
  c.Sums(SizeOf(dims));
  const int64_t rows = SizeOf(dims) / normalized[0];
  c.Magnitude(2 * LargestInverseDeviation(c.Input(x), rows, epsilon));
}

void InstanceNorm(CaseMaker& c) {
  const Dims dims = c.SomeDims(4, 4);
  const std::string x = c.WideNumbers(dims, 12);
  const bool has_scale = !c.is_2x() || !c.OneIn(3);
  const std::string scale =
      has_scale ? absl::StrCat(", Scale=", c.Numbers({dims[1]}, -2, 2)) : std::string();
  const std::string bias =
      has_scale ? absl::StrCat(", Bias=", c.Numbers({dims[1]})) : std::string();
  const float epsilon = SomeEpsilon(c);
  c.Op("instance_norm(X=", x, scale, bias,
       ") -> (Y=out, SavedMean=mean, SavedVariance=variance) {epsilon=", FloatText(epsilon), "}");
  c.Sums(SizeOf(dims));
  c.Magnitude(2 * LargestInverseDeviation(c.Input(x), dims[0] * dims[1], epsilon));
}

void GroupNorm(CaseMaker& c) {
  Dims dims = c.SomeDims(4, 4);
  const int groups = c.Between(1, 3);
  dims[1] *= groups;
  const std::string x = c.WideNumbers(dims, 12);
  const std::string scale = c.OneIn(3) ? "" : absl::StrCat(", Scale=", c.Numbers({dims[1]}));
  const std::string bias = c.OneIn(3) ? "" : absl::StrCat(", Bias=", c.Numbers({dims[1]}));
  const float epsilon = SomeEpsilon(c);
  c.Op("group_norm(X=", x, scale, bias,
       ") -> (Y=out, Mean=mean, Variance=variance) {epsilon=", FloatText(epsilon),
       ", groups=", groups, "}");
  c.Sums(SizeOf(dims));
  c.Magnitude(2 * LargestInverseDeviation(c.Input(x), dims[0] * groups, epsilon));
}

void Dropout(CaseMaker& c) {
  const std::string x = c.Numbers(c.SomeDims(1, 4));
  c.Op("dropout(X=", x,
       ") -> (Out=out, Mask=mask) {dropout_prob=", FloatText(c.Between(0.0f, 1.0f)),
       ", is_test=", BoolText(c.OneIn(4)), ", fix_seed=", BoolText(c.OneIn(2)),
       ", seed=", c.Between(0, 2), ", dropout_implementation=\"",
       c.OneOf<std::string>({"upscale_in_train", "downgrade_in_infer"}), "\"}");
}

void Dither(CaseMaker& c) {
  c.Op("dither(X=", c.Numbers(c.SomeDims(1, 4)), ") -> (Out=out) {seed=", c.Between(0, 2), "}");
}

}  // namespace

Generators NormGenerators() {
  return {{"batch_norm", BatchNorm},
          {"folded_batch_norm", FoldedBatchNorm},
          {"spectral_norm", SpectralNorm},
          {"layer_norm", LayerNorm},
          {"instance_norm", InstanceNorm},
          {"group_norm", GroupNorm},
          {"dither", Dither},
          {"dropout", Dropout}};
}

}  // namespace fixpoint::random_cases
