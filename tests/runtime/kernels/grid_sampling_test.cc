// Samples between elements, beside plain loops in double.

#include "runtime/kernels/grid_sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "runtime/random.h"

namespace fixpoint::kernels {
namespace {

std::vector<float> Drawn(int64_t size, uint32_t number, float most = 1) {
  const RandomStream random(1, number, 0);
  std::vector<float> values(size);
  for (int64_t i = 0; i < size; ++i) {
    values[i] = most * static_cast<float>(2 * random.Uniform(i) - 1);
  }
  return values;
}

std::vector<float> Sampled(const GridSampling& sampling, const std::vector<float>& grid,
                           const std::vector<float>& x) {
  std::vector<SampleCorners> corners(sampling.images * sampling.samples);
  FindCorners(sampling, grid, absl::MakeSpan(corners));
  std::vector<float> out(sampling.images * sampling.channels * sampling.samples);
  SampleGrid(sampling, corners, x, absl::MakeSpan(out));
  return out;
}

// Bilinear, with corners aligned and zeros beside the image.
double Sample(const float* plane, int64_t height, int64_t width, double row, double column) {
  double sum = 0;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const double near_row = 1 - std::fabs(row - static_cast<double>(y));
      const double near_column = 1 - std::fabs(column - static_cast<double>(x));
      if (near_row > 0 && near_column > 0) sum += near_row * near_column * plane[y * width + x];
    }
  }
  return sum;
}

TEST(GridSampling, IsBilinear) {
  for (const GridSampling& sampling : {GridSampling{1, 1, 1, 1, 3}, GridSampling{2, 3, 5, 4, 17},
                                       GridSampling{1, 70, 9, 13, 200}}) {
    const int64_t plane = sampling.height * sampling.width;
    const std::vector<float> x = Drawn(sampling.images * sampling.channels * plane, 1);
    const std::vector<float> grid = Drawn(sampling.images * sampling.samples * 2, 2, 1.3f);
    const std::vector<float> out = Sampled(sampling, grid, x);
    for (int64_t i = 0; i < static_cast<int64_t>(out.size()); ++i) {
      const int64_t p = i / sampling.samples;
      const float* const at =
          &grid[(p / sampling.channels * sampling.samples + i % sampling.samples) * 2];
      const double column = (at[0] + 1.0) / 2 * static_cast<double>(sampling.width - 1);
      const double row = (at[1] + 1.0) / 2 * static_cast<double>(sampling.height - 1);
      // A place of up to 13 is known to a unit of 2^-20.
      EXPECT_NEAR(out[i], Sample(&x[p * plane], sampling.height, sampling.width, row, column),
                  1e-5);
    }
  }
}

TEST(GridSampling, GivesZeroWhereThePlaceIsNoNumber) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const GridPadding padding :
       {GridPadding::kZeros, GridPadding::kBorder, GridPadding::kReflection}) {
    GridSampling sampling{1, 1, 2, 2, 2};
    sampling.padding = padding;
    const std::vector<float> out = Sampled(sampling, {kNan, 0, 0, kNan}, {1, 2, 3, 4});
    EXPECT_EQ(out, (std::vector<float>{0, 0}));
  }
  EXPECT_EQ(Sampled({1, 1, 2, 2, 1}, {kInfinity, 0}, {1, 2, 3, 4}), std::vector<float>{0});
}

// <dout, Sample(x)> = <SampleBackward(dout), x>.
TEST(GridSampling, GradientOfXIsTheTransposedMap) {
  const GridSampling sampling{2, 3, 5, 4, 17};
  const int64_t plane = sampling.height * sampling.width;
  const std::vector<float> x = Drawn(6 * plane, 1);
  const std::vector<float> grid = Drawn(2 * 17 * 2, 2, 1.3f);
  const std::vector<float> dout = Drawn(6 * 17, 3);
  std::vector<SampleCorners> corners(2 * 17);
  FindCorners(sampling, grid, absl::MakeSpan(corners));
  const std::vector<float> out = Sampled(sampling, grid, x);
  std::vector<float> dx(x.size());
  SampleGridBackwardX(sampling, corners, dout, absl::MakeSpan(dx));
  double forward = 0;
  double backward = 0;
  for (size_t i = 0; i < out.size(); ++i) forward += static_cast<double>(out[i]) * dout[i];
  for (size_t i = 0; i < x.size(); ++i) backward += static_cast<double>(x[i]) * dx[i];
  EXPECT_NEAR(forward, backward, 1e-5);
}

}  // namespace
}  // namespace fixpoint::kernels
