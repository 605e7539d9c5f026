// The loss of YOLO's last convolution: what it says of true boxes, and where it sees none.

#ifndef FIXPOINT_RUNTIME_BOXES_YOLO_LOSS_H_
#define FIXPOINT_RUNTIME_BOXES_YOLO_LOSS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "ops/op_form.h"

namespace fixpoint::boxes {

// X [images, layer anchors * (5 + classes), side, side]: of each anchor the place of a box in its
// cell, its size, whether there is an object, and its class.
struct YoloLoss {
  int64_t images;
  int64_t side;
  int64_t boxes;  // true ones of an image
  int64_t classes;
  std::vector<int64_t> anchors;        // widths and heights, of all layers
  std::vector<int64_t> layer_anchors;  // indices
  double ignore_threshold;
  double downsample_ratio;
  bool smooths_labels;
  double scale;

  int64_t plane() const { return side * side; }
  int64_t layer_anchor_count() const { return static_cast<int64_t>(layer_anchors.size()); }
  // A value of a cell in X, and in the mask of objects.
  int64_t Place(int64_t image, int64_t layer_anchor, int64_t value, int64_t cell) const {
    return ((image * layer_anchor_count() + layer_anchor) * (5 + classes) + value) * plane() + cell;
  }
  int64_t MaskPlace(int64_t image, int64_t layer_anchor, int64_t cell) const {
    return (image * layer_anchor_count() + layer_anchor) * plane() + cell;
  }
  Dims MaskDims() const { return {images, layer_anchor_count(), side, side}; }
};

// Error (kInvalidArgument): an attribute that makes no sense, or dims that do not fit.
absl::StatusOr<YoloLoss> YoloLossOf(const OpAttributes& op, DimsView x, DimsView boxes);

// Of all images. A box whose width or height is below 1e-6 is none.
template <typename T>
struct YoloTruth {
  absl::Span<const T> boxes;  // [images, boxes, 4]: centre and size, as parts of the image
  absl::Span<const int64_t> labels;
  absl::Span<const T> scores;  // how much a box counts; none: each 1

  T ScoreOf(int64_t i) const { return scores.empty() ? T(1) : scores[i]; }
};

// loss [images]; objects MaskDims(): the score of the true box in a cell, 0 if there is none, -1
// for a cell that sees one well enough not to be told that there is none; matches [images, boxes]:
// the anchor of the layer that fits a box best, -1 for one of another layer. Error
// (kInvalidArgument): the centre of a box is not in the image.
template <typename T>
absl::Status FindYoloLoss(const YoloLoss& yolo, absl::Span<const T> x, const YoloTruth<T>& truth,
                          absl::Span<T> loss, absl::Span<T> objects, absl::Span<int32_t> matches);

// Of several true boxes in a cell the last decides the gradient there. Error (kInvalidArgument):
// also, a match is no anchor of the layer.
template <typename T>
absl::Status FindYoloLossGradient(const YoloLoss& yolo, absl::Span<const T> x,
                                  const YoloTruth<T>& truth, absl::Span<const T> objects,
                                  absl::Span<const int32_t> matches, absl::Span<const T> dloss,
                                  absl::Span<T> dx);

}  // namespace fixpoint::boxes

#endif  // FIXPOINT_RUNTIME_BOXES_YOLO_LOSS_H_
