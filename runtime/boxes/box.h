// A box [x1, y1, x2, y2], and how much two of them overlap.

#ifndef FIXPOINT_RUNTIME_BOXES_BOX_H_
#define FIXPOINT_RUNTIME_BOXES_BOX_H_

#include <algorithm>

namespace fixpoint::boxes {

// Whether corners are places between pixels, or pixels that belong to the box.
enum class Corners { kPlaces, kPixels };
template <typename T>
T ExtraOf(Corners corners) {
  return corners == Corners::kPixels ? T(1) : T(0);
}

// Intersection over union as iou_similarity has it.
template <typename T>
T Similarity(const T* a, const T* b, Corners corners) {
  const T extra = ExtraOf<T>(corners);
  const T width = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]) + extra, T(0));
  const T height = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]) + extra, T(0));
  const T common = width * height;
  const T area_a = (a[2] - a[0] + extra) * (a[3] - a[1] + extra);
  const T area_b = (b[2] - b[0] + extra) * (b[3] - b[1] + extra);
  // Two empty boxes have nothing in common.
  return common / (area_a + area_b - common + T(1e-10));
}

// 0 for a box whose corners are in the wrong order.
template <typename T>
T Area(const T* box, Corners corners) {
  if (box[2] < box[0] || box[3] < box[1]) return T(0);
  const T extra = ExtraOf<T>(corners);
  return (box[2] - box[0] + extra) * (box[3] - box[1] + extra);
}

// Intersection over union as suppression has it: 0 for boxes that do not touch.
template <typename T>
T Overlap(const T* a, const T* b, Corners corners) {
  if (b[0] > a[2] || b[2] < a[0] || b[1] > a[3] || b[3] < a[1]) return T(0);
  const T extra = ExtraOf<T>(corners);
  const T width = std::min(a[2], b[2]) - std::max(a[0], b[0]) + extra;
  const T height = std::min(a[3], b[3]) - std::max(a[1], b[1]) + extra;
  const T common = width * height;
  return common / (Area(a, corners) + Area(b, corners) - common);
}

}  // namespace fixpoint::boxes

#endif  // FIXPOINT_RUNTIME_BOXES_BOX_H_
