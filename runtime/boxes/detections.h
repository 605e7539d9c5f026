// What RetinaNet detects: boxes relative to the anchors of several levels of features, decoded, and
// the best of each class.

#ifndef FIXPOINT_RUNTIME_BOXES_DETECTIONS_H_
#define FIXPOINT_RUNTIME_BOXES_DETECTIONS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "ops/op_form.h"
#include "runtime/boxes/suppression.h"
#include "runtime/boxes/suppression_shape.h"

namespace fixpoint::boxes {

// Of one image.
template <typename T>
struct DetectionLevel {
  absl::Span<const T> offsets;  // [boxes, 4]
  absl::Span<const T> scores;   // [boxes, classes]
  absl::Span<const T> anchors;  // [boxes, 4]
};

// limits.of_class: candidates of a level.
GreedySuppression DetectionLimitsOf(const OpAttributes& op);

// Adds the rows of an image, the best first; labels count from 1. All scores above 0 of the last
// level are candidates. `info`: height, width and scale of the image.
template <typename T>
void AddDetections(const GreedySuppression& suppression, int64_t classes,
                   absl::Span<const DetectionLevel<T>> levels, const T* info, KeptRows<T>* all);

}  // namespace fixpoint::boxes

#endif  // FIXPOINT_RUNTIME_BOXES_DETECTIONS_H_
