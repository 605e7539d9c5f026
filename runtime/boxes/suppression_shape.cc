#include "runtime/boxes/suppression_shape.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fixpoint::boxes {
namespace {

SuppressionLimits LimitsOf(const OpAttributes& op) {
  SuppressionLimits limits;
  limits.background = op.Int("background_label");
  limits.score_threshold = op.Float("score_threshold");
  limits.of_class = op.Int("nms_top_k");
  limits.of_image = op.Int("keep_top_k");
  limits.corners = op.Bool("normalized") ? Corners::kPlaces : Corners::kPixels;
  return limits;
}

}  // namespace

absl::StatusOr<SuppressionShape> SuppressionShapeOf(DimsView boxes, DimsView scores,
                                                    bool may_be_of_regions) {
  const bool is_dense =
      boxes.size() == 3 && scores.size() == 3 && boxes[0] == scores[0] && boxes[1] == scores[2];
  const bool is_of_regions = may_be_of_regions && boxes.size() == 3 && scores.size() == 2 &&
                             boxes[0] == scores[0] && boxes[1] == scores[1];
  if (!is_dense && !is_of_regions) {
    return absl::InvalidArgumentError(
        absl::StrCat("BBoxes is ", DimsText(boxes), " and Scores ", DimsText(scores),
                     "; want [N, M, 4] and [N, classes, M]",
                     may_be_of_regions ? ", or [M, classes, 4] and [M, classes]" : ""));
  }
  if (boxes[2] != 4) {
    return absl::UnimplementedError(
        absl::StrCat("BBoxes is ", DimsText(boxes), "; want boxes of 4 numbers"));
  }
  if (is_of_regions) return SuppressionShape{true, 1, boxes[0], boxes[1]};
  return SuppressionShape{false, boxes[0], boxes[1], scores[1]};
}

GreedySuppression GreedySuppressionOf(const OpAttributes& op) {
  return {LimitsOf(op), op.Float("nms_threshold"), op.Float("nms_eta")};
}

MatrixSuppression MatrixSuppressionOf(const OpAttributes& op) {
  return {LimitsOf(op), op.Float("post_threshold"), op.Bool("use_gaussian"),
          op.Float("gaussian_sigma")};
}

}  // namespace fixpoint::boxes
