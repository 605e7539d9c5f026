#include "runtime/data/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "proto/base/status_macros.h"
#include "proto/wire/program.pb.h"
#include "runtime/data/digit_strokes.h"
#include "runtime/data/random_streams.h"
#include "runtime/random.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

constexpr int kExtent = 28;
constexpr size_t kPixels = size_t{kExtent} * kExtent;
// The box that a digit is drawn in, in pixels.
constexpr double kWidth = 13;
constexpr double kHeight = 19;

// The random numbers that an image draws from its stream: one for each property, two for each point
// of the stroke, one for each pixel.
enum Draw : uint64_t {
  kTurn,
  kSlant,
  kStretchX,
  kStretchY,
  kMoveX,
  kMoveY,
  kPenRadius,
  kInk,
  kNoise,
  kFirstPoint = 16,
  kFirstPixel = 64,
};
static_assert(kFirstPoint + 2 * kMostStrokePoints <= kFirstPixel, "each draw has its own number");

class Draws {
 public:
  Draws(uint64_t seed, uint32_t image) : stream_(seed, kDigitStream, image) {}

  double Between(double low, double high, uint64_t draw) const {
    return low + (high - low) * stream_.Uniform(draw);
  }

 private:
  RandomStream stream_;
};

// The stroke in pixels: each point is displaced a little, and then all of them together.
std::array<StrokePoint, kMostStrokePoints> PlacedPoints(const DigitStroke& stroke,
                                                        const Draws& draws) {
  // Sine and cosine by the tangent of half the angle, up to 17 degrees.
  const double tangent = draws.Between(-0.15, 0.15, kTurn);
  const double cosine = (1 - tangent * tangent) / (1 + tangent * tangent);
  const double sine = 2 * tangent / (1 + tangent * tangent);
  const double slant = draws.Between(-0.25, 0.25, kSlant);
  const double width = kWidth * draws.Between(0.75, 1.15, kStretchX);
  const double height = kHeight * draws.Between(0.75, 1.1, kStretchY);
  const double center_x = kExtent / 2.0 + draws.Between(-2.5, 2.5, kMoveX);
  const double center_y = kExtent / 2.0 + draws.Between(-2.5, 2.5, kMoveY);
  constexpr double kUnsteady = 0.08;
  std::array<StrokePoint, kMostStrokePoints> placed;
  for (size_t i = 0; i < stroke.size; ++i) {
    const uint64_t draw = kFirstPoint + 2 * i;
    const double y =
        height * (stroke.points[i].y - 0.5 + draws.Between(-kUnsteady, kUnsteady, draw + 1));
    const double x =
        width * (stroke.points[i].x - 0.5 + draws.Between(-kUnsteady, kUnsteady, draw)) - slant * y;
    placed[i] = {center_x + cosine * x - sine * y, center_y + sine * x + cosine * y};
  }
  return placed;
}

// The square of the distance between a point and the line from a to b.
double SquaredDistance(StrokePoint point, StrokePoint a, StrokePoint b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double length = dx * dx + dy * dy;
  const double along = (point.x - a.x) * dx + (point.y - a.y) * dy;
  const double part = length > 0 ? std::clamp(along / length, 0.0, 1.0) : 0;
  const double off_x = point.x - (a.x + part * dx);
  const double off_y = point.y - (a.y + part * dy);
  return off_x * off_x + off_y * off_y;
}

// The pixels of a row or column whose centers are within `reach` of those from a to b.
std::pair<int, int> PixelsNear(double a, double b, double reach) {
  const double low = std::clamp(std::min(a, b) - reach, 0.0, double{kExtent});
  const double high = std::clamp(std::max(a, b) + reach, 0.0, double{kExtent});
  return {static_cast<int>(low), std::min(static_cast<int>(high) + 1, kExtent)};
}

void RenderDigit(size_t digit, const Draws& draws, absl::Span<uint8_t> pixels) {
  const DigitStroke& stroke = kDigitStrokes[digit];
  const std::array<StrokePoint, kMostStrokePoints> points = PlacedPoints(stroke, draws);
  const double radius = draws.Between(0.7, 1.6, kPenRadius);
  const double ink = draws.Between(130, 255, kInk);
  const double noise = draws.Between(0, 60, kNoise);

  // The pen covers a pixel by how far its edge is beyond the pixel's center.
  const double reach = radius + 0.5;
  std::array<double, kPixels> distances;
  distances.fill(reach * reach);
  for (size_t i = 1; i < stroke.size; ++i) {
    const StrokePoint a = points[i - 1];
    const StrokePoint b = points[i];
    const auto [first_column, end_column] = PixelsNear(a.x, b.x, reach);
    const auto [first_row, end_row] = PixelsNear(a.y, b.y, reach);
    for (int row = first_row; row < end_row; ++row) {
      for (int column = first_column; column < end_column; ++column) {
        double& distance =
            distances[static_cast<size_t>(row) * kExtent + static_cast<size_t>(column)];
        distance = std::min(distance, SquaredDistance({column + 0.5, row + 0.5}, a, b));
      }
    }
  }
  for (size_t i = 0; i < kPixels; ++i) {
    const double covered = std::min(reach - std::sqrt(distances[i]), 1.0);
    const double value = ink * covered + draws.Between(-noise, noise, kFirstPixel + i);
    pixels[i] = static_cast<uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
  }
}

}  // namespace

absl::StatusOr<ImageSet> RenderDigits(int64_t count, uint64_t seed) {
  if (count < 0 || count > UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("the number of images is ", count, "; expected 0 to ", UINT32_MAX));
  }
  ASSIGN_OR_RETURN(Tensor images, Tensor::Allocate(VarType::UINT8, {count, 1, kExtent, kExtent}));
  ASSIGN_OR_RETURN(Tensor labels, Tensor::Allocate(VarType::INT64, {count}));
  const absl::Span<uint8_t> pixels = images.mutable_data<uint8_t>();
  const absl::Span<int64_t> digits = labels.mutable_data<int64_t>();
  for (size_t i = 0; i < digits.size(); ++i) {
    digits[i] = static_cast<int64_t>(i % kDigitStrokes.size());
    RenderDigit(i % kDigitStrokes.size(), Draws(seed, static_cast<uint32_t>(i)),
                pixels.subspan(i * kPixels, kPixels));
  }
  return ImageSet{std::move(images), std::move(labels)};
}

}  // namespace fixpoint
