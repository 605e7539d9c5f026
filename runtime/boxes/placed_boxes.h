// Boxes around each place of a grid: prior boxes and anchors.

#ifndef FIXPOINT_RUNTIME_BOXES_PLACED_BOXES_H_
#define FIXPOINT_RUNTIME_BOXES_PLACED_BOXES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/op_form.h"

namespace fixpoint::boxes {

// One box of each place, relative to the place's centre.
struct PlacedBox {
  double dx = 0;
  double dy = 0;
  double half_width;
  double half_height;
};

struct PlacedBoxes {
  int64_t height;
  int64_t width;
  // The centre of place (x, y) is (first_x + x * step_x, first_y + y * step_y).
  double first_x;
  double first_y;
  double step_x;
  double step_y;
  // What coordinates are divided by.
  double unit_x = 1;
  double unit_y = 1;
  // Lower corners to 0 at least and upper corners to 1 at most; or all to both.
  enum class Clip { kNone, kCorners, kAll } clip = Clip::kNone;
  std::vector<PlacedBox> boxes;
  std::vector<double> variances;  // 4
};

// How many rows and columns the tensors have whose shapes an op reads.
struct PlacedShapes {
  int64_t height;
  int64_t width;
  int64_t image_height;
  int64_t image_width;
};

// What the ops of these types make. Errors (kInvalidArgument): lists whose lengths do not fit, a
// ratio that is not positive, a step that is negative, more boxes at a place than make sense.
absl::StatusOr<PlacedBoxes> PriorBoxesOf(const OpAttributes& op, const PlacedShapes& shapes);
absl::StatusOr<PlacedBoxes> DensityPriorBoxesOf(const OpAttributes& op, const PlacedShapes& shapes);
absl::StatusOr<PlacedBoxes> AnchorsOf(const OpAttributes& op, const PlacedShapes& shapes);

// boxes and variances [height, width, boxes, 4]. Computed in double precision.
template <typename T>
void WriteBoxes(const PlacedBoxes& placed, absl::Span<T> boxes) {
  const auto clipped = [clip = placed.clip](double value, bool is_lower) {
    using Clip = PlacedBoxes::Clip;
    if (clip == Clip::kAll || (clip == Clip::kCorners && is_lower)) value = std::max(value, 0.0);
    if (clip == Clip::kAll || (clip == Clip::kCorners && !is_lower)) value = std::min(value, 1.0);
    return static_cast<T>(value);
  };
  T* next = boxes.data();
  for (int64_t y = 0; y < placed.height; ++y) {
    const double centre_y = placed.first_y + static_cast<double>(y) * placed.step_y;
    for (int64_t x = 0; x < placed.width; ++x) {
      const double centre_x = placed.first_x + static_cast<double>(x) * placed.step_x;
      for (const PlacedBox& box : placed.boxes) {
        const double at_x = centre_x + box.dx;
        const double at_y = centre_y + box.dy;
        *next++ = clipped((at_x - box.half_width) / placed.unit_x, true);
        *next++ = clipped((at_y - box.half_height) / placed.unit_y, true);
        *next++ = clipped((at_x + box.half_width) / placed.unit_x, false);
        *next++ = clipped((at_y + box.half_height) / placed.unit_y, false);
      }
    }
  }
}

template <typename T>
void WriteVariances(const PlacedBoxes& placed, absl::Span<T> variances) {
  for (size_t i = 0; i < variances.size(); ++i) {
    variances[i] = static_cast<T>(placed.variances[i % 4]);
  }
}

}  // namespace fixpoint::boxes

#endif  // FIXPOINT_RUNTIME_BOXES_PLACED_BOXES_H_
