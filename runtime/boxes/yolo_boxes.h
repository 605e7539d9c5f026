// Boxes and scores out of YOLO's last convolution.

#ifndef FIXPOINT_RUNTIME_BOXES_YOLO_BOXES_H_
#define FIXPOINT_RUNTIME_BOXES_YOLO_BOXES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::boxes {

// X [images, anchors * (5 + classes), height, width], with has_iou also a channel for each anchor
// in front.
struct YoloBoxes {
  int64_t images;
  int64_t height;
  int64_t width;
  int64_t classes;
  std::vector<int64_t> anchors;  // widths and heights
  double downsample_ratio;
  double threshold;
  bool clips;
  double scale;
  bool has_iou = false;
  double iou_factor = 0;
  // Releases before 2.0 divide widths by the height of the map too.
  bool divides_by_height = false;

  int64_t anchor_count() const { return static_cast<int64_t>(anchors.size()) / 2; }
  int64_t boxes() const { return anchor_count() * height * width; }
};

template <typename T>
T Logistic(T x) {
  return 1 / (1 + std::exp(-x));
}

// boxes [boxes(), 4] and scores [boxes(), classes] of one image of those extents: zeros where the
// confidence is below the threshold. REQUIRES: the spans are those of the image.
template <typename T>
void FindYoloBoxes(const YoloBoxes& yolo, absl::Span<const T> x, int64_t image_height,
                   int64_t image_width, absl::Span<T> boxes, absl::Span<T> scores) {
  const int64_t plane = yolo.height * yolo.width;
  const int64_t anchors = yolo.anchor_count();
  const T scale = static_cast<T>(yolo.scale);
  const T bias = T(-0.5) * (scale - 1);
  const T columns = static_cast<T>(yolo.divides_by_height ? yolo.height : yolo.width);
  const T rows = static_cast<T>(yolo.height);
  const T ratio = static_cast<T>(yolo.downsample_ratio);
  const T size_x = static_cast<T>(image_width);
  const T size_y = static_cast<T>(image_height);
  std::fill(boxes.begin(), boxes.end(), T(0));
  std::fill(scores.begin(), scores.end(), T(0));
  for (int64_t a = 0; a < anchors; ++a) {
    const T* const of_anchor =
        x.data() + ((yolo.has_iou ? anchors : 0) + a * (5 + yolo.classes)) * plane;
    for (int64_t i = 0; i < plane; ++i) {
      T confidence = Logistic(of_anchor[4 * plane + i]);
      if (yolo.has_iou) {
        const T factor = static_cast<T>(yolo.iou_factor);
        confidence =
            std::pow(confidence, 1 - factor) * std::pow(Logistic(x[a * plane + i]), factor);
      }
      if (confidence < static_cast<T>(yolo.threshold)) continue;
      const T column = static_cast<T>(i % yolo.width);
      const T row = static_cast<T>(i / yolo.width);
      const T centre_x = (column + Logistic(of_anchor[i]) * scale + bias) * size_x / columns;
      const T centre_y = (row + Logistic(of_anchor[plane + i]) * scale + bias) * size_y / rows;
      const T width = std::exp(of_anchor[2 * plane + i]) * static_cast<T>(yolo.anchors[2 * a]) *
                      size_x / (ratio * columns);
      const T height = std::exp(of_anchor[3 * plane + i]) *
                       static_cast<T>(yolo.anchors[2 * a + 1]) * size_y / (ratio * rows);
      T* const box = boxes.data() + (a * plane + i) * 4;
      box[0] = centre_x - width / 2;
      box[1] = centre_y - height / 2;
      box[2] = centre_x + width / 2;
      box[3] = centre_y + height / 2;
      if (yolo.clips) {
        box[0] = box[0] > 0 ? box[0] : T(0);
        box[1] = box[1] > 0 ? box[1] : T(0);
        box[2] = box[2] < size_x - 1 ? box[2] : size_x - 1;
        box[3] = box[3] < size_y - 1 ? box[3] : size_y - 1;
      }
      T* const score = scores.data() + (a * plane + i) * yolo.classes;
      for (int64_t c = 0; c < yolo.classes; ++c) {
        score[c] = confidence * Logistic(of_anchor[(5 + c) * plane + i]);
      }
    }
  }
}

}  // namespace fixpoint::boxes

#endif  // FIXPOINT_RUNTIME_BOXES_YOLO_BOXES_H_
