// How the inputs of an op that suppresses boxes lie, and what it is told to keep.

#ifndef FIXPOINT_RUNTIME_BOXES_SUPPRESSION_SHAPE_H_
#define FIXPOINT_RUNTIME_BOXES_SUPPRESSION_SHAPE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "ops/op_form.h"
#include "runtime/boxes/suppression.h"

namespace fixpoint::boxes {

// BBoxes [images, boxes, 4] with Scores [images, classes, boxes]; or, of regions, BBoxes
// [boxes, classes, 4] with Scores [boxes, classes], whose images are told otherwise.
struct SuppressionShape {
  bool is_of_regions;
  int64_t images;  // 1 for regions
  int64_t boxes;
  int64_t classes;
};

// Errors: kInvalidArgument: the dims do not fit; kUnimplemented: boxes of more than 4 numbers.
absl::StatusOr<SuppressionShape> SuppressionShapeOf(DimsView boxes, DimsView scores,
                                                    bool may_be_of_regions);

GreedySuppression GreedySuppressionOf(const OpAttributes& op);
MatrixSuppression MatrixSuppressionOf(const OpAttributes& op);

// The boxes [begin, end) of an image, class by class. For dense inputs they are all of the image.
template <typename T>
std::vector<ScoredBoxes<T>> ClassesOf(const SuppressionShape& shape, int64_t image, int64_t begin,
                                      int64_t end, absl::Span<const T> boxes,
                                      absl::Span<const T> scores) {
  std::vector<ScoredBoxes<T>> classes;
  for (int64_t c = 0; c < shape.classes; ++c) {
    if (shape.is_of_regions) {
      classes.push_back({boxes.data() + (begin * shape.classes + c) * 4, shape.classes * 4,
                         scores.data() + begin * shape.classes + c, shape.classes, end - begin});
    } else {
      classes.push_back({boxes.data() + image * shape.boxes * 4, 4,
                         scores.data() + (image * shape.classes + c) * shape.boxes, 1,
                         shape.boxes});
    }
  }
  return classes;
}

// Rows [label, score, x1, y1, x2, y2] of what was kept, and the places among all boxes.
template <typename T>
struct KeptRows {
  std::vector<T> rows;
  std::vector<int64_t> places;
  std::vector<int64_t> offsets = {0};  // of the images

  int64_t size() const { return static_cast<int64_t>(places.size()); }
  int64_t OfImage(int64_t i) const { return offsets[i + 1] - offsets[i]; }

  void Add(const Kept& kept, T score, const T* box, int64_t place) {
    rows.push_back(static_cast<T>(kept.label));
    rows.push_back(score);
    rows.insert(rows.end(), box, box + 4);
    places.push_back(place);
  }
  void EndImage() { offsets.push_back(size()); }
};

// What is kept of all images; for regions the offsets cut them into images.
template <typename T>
KeptRows<T> SuppressAll(const SuppressionShape& shape, const GreedySuppression& suppression,
                        absl::Span<const int64_t> offsets, absl::Span<const T> boxes,
                        absl::Span<const T> scores) {
  KeptRows<T> all;
  const int64_t images =
      shape.is_of_regions ? static_cast<int64_t>(offsets.size()) - 1 : shape.images;
  for (int64_t image = 0; image < images; ++image) {
    const int64_t begin = shape.is_of_regions ? offsets[image] : 0;
    const int64_t end = shape.is_of_regions ? offsets[image + 1] : shape.boxes;
    const std::vector<ScoredBoxes<T>> classes = ClassesOf(shape, image, begin, end, boxes, scores);
    const KeptOrder order = shape.is_of_regions ? KeptOrder::kByIndex : KeptOrder::kByScore;
    for (const Kept& kept : Suppress<T>(classes, suppression, order)) {
      const int64_t place = shape.is_of_regions ? (begin + kept.index) * shape.classes + kept.label
                                                : image * shape.boxes + kept.index;
      const ScoredBoxes<T>& of_class = classes[kept.label];
      all.Add(kept, of_class.Score(kept.index), of_class.Box(kept.index), place);
    }
    all.EndImage();
  }
  return all;
}

// The same by MergeAndSuppress. REQUIRES: not of regions.
template <typename T>
KeptRows<T> MergeAndSuppressAll(const SuppressionShape& shape, const GreedySuppression& suppression,
                                std::vector<T> boxes, std::vector<T> scores) {
  KeptRows<T> all;
  for (int64_t image = 0; image < shape.images; ++image) {
    const int64_t of_image = shape.classes * shape.boxes;
    const MutableBoxes<T> mutable_boxes{
        absl::MakeSpan(boxes).subspan(image * shape.boxes * 4, shape.boxes * 4),
        absl::MakeSpan(scores).subspan(image * of_image, of_image), shape.classes, shape.boxes};
    for (const Kept& kept : MergeAndSuppress(mutable_boxes, suppression)) {
      all.Add(kept, mutable_boxes.scores[kept.label * shape.boxes + kept.index],
              mutable_boxes.boxes.data() + kept.index * 4, image * shape.boxes + kept.index);
    }
    all.EndImage();
  }
  return all;
}

template <typename T>
KeptRows<T> SuppressAllByMatrix(const SuppressionShape& shape, const MatrixSuppression& suppression,
                                absl::Span<const T> boxes, absl::Span<const T> scores) {
  KeptRows<T> all;
  for (int64_t image = 0; image < shape.images; ++image) {
    const std::vector<ScoredBoxes<T>> classes =
        ClassesOf(shape, image, 0, shape.boxes, boxes, scores);
    for (const Decayed<T>& decayed : SuppressByMatrix<T>(classes, suppression)) {
      const Kept& kept = decayed.kept;
      all.Add(kept, decayed.score, classes[kept.label].Box(kept.index),
              image * shape.boxes + kept.index);
    }
    all.EndImage();
  }
  return all;
}

}  // namespace fixpoint::boxes

#endif  // FIXPOINT_RUNTIME_BOXES_SUPPRESSION_SHAPE_H_
