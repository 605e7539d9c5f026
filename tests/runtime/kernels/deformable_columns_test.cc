// What moved taps read, beside plain loops in double.

#include "runtime/kernels/deformable_columns.h"

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

DeformableShape Shape(int64_t channels, int64_t offset_groups, int64_t stride, int64_t pad) {
  DeformableShape shape{1, channels, 6, 5, 1, 0, 0, 1, offset_groups, {}};
  for (WindowAxis& axis : shape.window) axis = {3, stride, 1, pad, pad};
  shape.out_height = *WindowCount(shape.height, shape.window[0]);
  shape.out_width = *WindowCount(shape.width, shape.window[1]);
  return shape;
}

// The element of a plane at a place between others, 0 beside it.
double At(const float* plane, const DeformableShape& shape, double row, double column) {
  double sum = 0;
  for (int64_t y = 0; y < shape.height; ++y) {
    for (int64_t x = 0; x < shape.width; ++x) {
      const double near_row = 1 - std::fabs(row - static_cast<double>(y));
      const double near_column = 1 - std::fabs(column - static_cast<double>(x));
      if (near_row > 0 && near_column > 0) {
        sum += near_row * near_column * plane[y * shape.width + x];
      }
    }
  }
  return sum;
}

TEST(DeformableColumns, AreReadWhereTapsAreMoved) {
  for (const DeformableShape& shape : {Shape(1, 1, 1, 0), Shape(4, 2, 1, 1), Shape(6, 3, 2, 1)}) {
    const int64_t plane = shape.height * shape.width;
    const std::vector<float> x = Drawn(shape.channels * plane, 1);
    const std::vector<float> offset =
        Drawn(shape.offset_groups * shape.taps() * 2 * shape.places(), 2, 3);
    const std::vector<float> mask = Drawn(shape.offset_groups * shape.taps() * shape.places(), 3);
    std::vector<float> columns(shape.channels * shape.taps() * shape.places());
    GatherDeformed(shape, {x, offset, mask}, absl::MakeSpan(columns));
    for (int64_t i = 0; i < static_cast<int64_t>(columns.size()); ++i) {
      const int64_t place = i % shape.places();
      const int64_t tap = i / shape.places() % shape.taps();
      const int64_t channel = i / shape.places() / shape.taps();
      const int64_t moved = channel / shape.channels_of_offsets() * shape.taps() + tap;
      const double row =
          shape.Row(place / shape.out_width, tap) + offset[moved * 2 * shape.places() + place];
      const double column = shape.Column(place % shape.out_width, tap) +
                            offset[(moved * 2 + 1) * shape.places() + place];
      const double expected =
          At(&x[channel * plane], shape, row, column) * mask[moved * shape.places() + place];
      EXPECT_NEAR(columns[i], expected, 1e-5);
    }
  }
}

TEST(DeformableColumns, AreZeroWhereATapIsMovedToNoPlace) {
  const DeformableShape shape = Shape(1, 1, 1, 0);
  const std::vector<float> x = Drawn(shape.height * shape.width, 1);
  std::vector<float> offset(shape.taps() * 2 * shape.places());
  for (size_t i = 0; i < offset.size(); ++i) {
    offset[i] = i % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : 1e30f;
  }
  std::vector<float> columns(shape.taps() * shape.places(), 1);
  GatherDeformed(shape, {x, offset, {}}, absl::MakeSpan(columns));
  EXPECT_EQ(columns, std::vector<float>(columns.size(), 0));
}

// <dcolumns, Gather(x)> = <GatherBackward(dcolumns), x>.
TEST(DeformableColumns, GradientOfXIsTheTransposedMap) {
  const DeformableShape shape = Shape(4, 2, 1, 1);
  const std::vector<float> x = Drawn(shape.channels * shape.height * shape.width, 1);
  const std::vector<float> offset =
      Drawn(shape.offset_groups * shape.taps() * 2 * shape.places(), 2, 3);
  const DeformableImage image{x, offset, {}};
  std::vector<float> columns(shape.channels * shape.taps() * shape.places());
  GatherDeformed(shape, image, absl::MakeSpan(columns));
  const std::vector<float> dcolumns = Drawn(static_cast<int64_t>(columns.size()), 4);
  std::vector<float> dx(x.size());
  GatherDeformedBackwardX(shape, image, dcolumns, absl::MakeSpan(dx));
  double forward = 0;
  double backward = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    forward += static_cast<double>(columns[i]) * dcolumns[i];
  }
  for (size_t i = 0; i < x.size(); ++i) backward += static_cast<double>(x[i]) * dx[i];
  EXPECT_NEAR(forward, backward, 1e-4);
}

}  // namespace
}  // namespace fixpoint::kernels
