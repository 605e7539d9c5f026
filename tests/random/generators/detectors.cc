// What trains detectors, and ops that one kind of detector has.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/random/generators.h"
#include "tests/random/generators/some_boxes.h"

namespace fixpoint::random_cases {
namespace {

// Centres and sizes, as parts of the image; some of no extent.
std::string SomeTrueBoxes(CaseMaker& c, const Dims& dims) {
  std::vector<float> values;
  for (int64_t i = 0; i < SizeOf(dims); i += 4) {
    for (int k = 0; k < 2; ++k) values.push_back(c.Between(0.0f, 0.99f));
    for (int k = 0; k < 2; ++k) values.push_back(c.OneIn(8) ? 0.0f : c.Between(0.01f, 0.9f));
  }
  return c.Floats(dims, values);
}

void YoloLoss(CaseMaker& c) {
  const int anchors = c.Between(1, 4);
  std::vector<int> sizes;
  for (int i = 0; i < 2 * anchors; ++i) sizes.push_back(c.Between(5, 60));
  std::vector<int> mask;
  for (int i = 0; i < anchors; ++i) {
    if (i == 0 || c.OneIn(2)) mask.push_back(i);
  }
  const int classes = c.Between(1, 4);
  const int images = c.Between(1, 2);
  const int boxes = c.Between(1, 4);
  const int side = c.Between(1, 4);
  const std::string x =
      c.Numbers({images, static_cast<int64_t>(mask.size()) * (5 + classes), side, side}, -2, 2);
  const std::string box = SomeTrueBoxes(c, {images, boxes, 4});
  const std::string label = c.Integers(VarType::INT32, {images, boxes}, 0, classes - 1);
  const std::string score =
      c.OneIn(2) ? "" : absl::StrCat(", GTScore=", c.Numbers({images, boxes}, 0, 1));
  c.Op("yolov3_loss(X=", x, ", GTBox=", box, ", GTLabel=", label, score,
       ") -> (Loss=loss, ObjectnessMask=seen, GTMatchMask=match) {anchors=", ListText(sizes),
       ", anchor_mask=", ListText(mask), ", class_num=", classes,
       ", ignore_thresh=", FloatText(c.Between(0.2f, 0.9f)),
       ", downsample_ratio=", c.OneOf({8, 16, 32}), ", use_label_smooth=", BoolText(c.OneIn(2)),
       ", scale_x_y=", FloatText(c.OneIn(2) ? 1.0f : c.Between(1.0f, 1.3f)), "}");
  c.Exact();
}

void FocalLoss(CaseMaker& c) {
  const int rows = c.Between(1, 6);
  const int classes = c.Between(1, 5);
  const std::string x = c.Numbers({rows, classes});
  const std::string label = c.Integers(VarType::INT32, {rows, 1}, -1, classes);
  c.Op("sigmoid_focal_loss(X=", x, ", Label=", label,
       ", FgNum=", c.Integers(VarType::INT32, {1}, 0, 5),
       ") -> (Out=out) {gamma=", FloatText(c.OneIn(2) ? 2.0f : c.Between(0.5f, 3.0f)),
       ", alpha=", FloatText(c.Between(0.1f, 0.9f)), "}");
  c.Sums(8);
  c.Move({x});
}

void PrroiPool(CaseMaker& c) {
  const int regions = c.Between(1, 5);
  const std::string x = c.Numbers({2, c.Between(1, 3), c.Between(1, 8), c.Between(1, 8)});
  const std::string rois = SomeBoxes(c, {regions}, 20, true);
  const std::string counts = c.Integers(VarType::INT64, {1}, regions, regions);
  c.Op("prroi_pool(X=", x, ", ROIs=", rois, ", BatchRoINums=", counts,
       ") -> (Out=out) {pooled_height=", c.Between(1, 4), ", pooled_width=", c.Between(1, 4),
       ", spatial_scale=", FloatText(c.OneOf({1.0f, 0.5f, 0.25f})), "}");
  c.Sums(256);
  c.Move({x});
}

void LocalityAwareNms(CaseMaker& c) {
  const int classes = c.Between(1, 4);
  const int boxes = c.Between(1, 12);
  const int images = c.Between(1, 3);
  const std::string bboxes = SomeBoxes(c, {images, boxes}, 10, true);
  c.Op("locality_aware_nms(BBoxes=", bboxes, ", Scores=", c.Numbers({images, classes, boxes}, 0, 1),
       ") -> (Out=out) {", Limits(c, classes), Overlaps(c), "}");
  c.Exact();
}

// Height, width and scale of each image.
std::string SomeImages(CaseMaker& c, int images) {
  std::vector<float> sizes;
  for (int i = 0; i < images; ++i) {
    for (int k = 0; k < 2; ++k) sizes.push_back(static_cast<float>(c.Between(10, 40)));
    sizes.push_back(c.OneIn(2) ? 1 : c.Between(0.5f, 2.0f));
  }
  return c.Floats({images, 3}, sizes);
}

void DetectionOutput(CaseMaker& c) {
  const int levels = c.Between(1, 3);
  const int classes = c.Between(1, 3);
  const int images = c.Between(1, 2);
  std::vector<std::string> boxes, scores, anchors;
  for (int i = 0; i < levels; ++i) {
    const int count = c.Between(1, 8);
    boxes.push_back(c.Numbers({images, count, 4}, -1, 1));
    scores.push_back(c.Numbers({images, count, classes}, 0, 1));
    anchors.push_back(SomeBoxes(c, {count}, 30));
  }
  c.Op("retinanet_detection_output(BBoxes=[", absl::StrJoin(boxes, ", "), "], Scores=[",
       absl::StrJoin(scores, ", "), "], Anchors=[", absl::StrJoin(anchors, ", "),
       "], ImInfo=", SomeImages(c, images),
       ") -> (Out=out) {score_threshold=", FloatText(c.Between(0.05f, 0.9f)),
       ", nms_top_k=", c.OneIn(3) ? -1 : c.Between(0, 10),
       ", keep_top_k=", c.OneIn(3) ? -1 : c.Between(0, 8), Overlaps(c), "}");
  c.Exact();
}

struct Truth {
  std::string slots;  // GtBoxes and IsCrowd
  std::string classes;
  int images;
};

Truth SomeTruth(CaseMaker& c, int classes) {
  Truth truth;
  const int objects = c.Between(1, 6);
  const std::string boxes = SomeBoxes(c, {objects}, 30);
  c.CutIntoSequences(boxes);
  truth.images = static_cast<int>(c.Input(boxes).lod().back().size()) - 1;
  const std::string is_crowd = c.Integers(VarType::INT32, {objects, 1}, 0, c.OneIn(3) ? 1 : 0);
  truth.slots = absl::StrCat("GtBoxes=", boxes, ", IsCrowd=", is_crowd);
  if (classes > 0) truth.classes = c.Integers(VarType::INT32, {objects, 1}, 0, classes - 1);
  return truth;
}

constexpr char kAnchorOutputs[] =
    "LocationIndex=locations, ScoreIndex=scores, TargetBBox=offsets, TargetLabel=labels, "
    "BBoxInsideWeight=weights";

void RpnTargets(CaseMaker& c) {
  const Truth truth = SomeTruth(c, 0);
  const std::string anchors = SomeBoxes(c, {c.Between(1, 30)}, 40);
  c.Op("rpn_target_assign(Anchor=", anchors, ", ", truth.slots,
       ", ImInfo=", SomeImages(c, truth.images), ") -> (", kAnchorOutputs,
       ") {rpn_batch_size_per_im=", c.OneIn(4) ? 0 : c.Between(1, 20),
       ", rpn_straddle_thresh=", FloatText(c.OneOf({-1.0f, 0.0f, 3.0f})),
       ", rpn_positive_overlap=", FloatText(c.Between(0.2f, 0.9f)),
       ", rpn_negative_overlap=", FloatText(c.Between(0.1f, 0.6f)),
       ", rpn_fg_fraction=", FloatText(c.Between(0.1f, 1.0f)),
       ", use_random=", BoolText(c.OneIn(2)), "}");
  c.Exact();
}

void RetinanetTargets(CaseMaker& c) {
  const Truth truth = SomeTruth(c, 9);
  const std::string anchors = SomeBoxes(c, {c.Between(1, 30)}, 40);
  c.Op("retinanet_target_assign(Anchor=", anchors, ", ", truth.slots, ", GtLabels=", truth.classes,
       ", ImInfo=", SomeImages(c, truth.images), ") -> (", kAnchorOutputs,
       ", ForegroundNumber=counts) {positive_overlap=", FloatText(c.Between(0.2f, 0.9f)),
       ", negative_overlap=", FloatText(c.Between(0.1f, 0.6f)), "}");
  c.Exact();
}

void ProposalLabels(CaseMaker& c) {
  const int classes = c.Between(2, 4);
  const Truth truth = SomeTruth(c, classes);
  const int per_image = c.Between(1, 8);
  const std::string rois = SomeBoxes(c, {truth.images * per_image}, 30);
  std::vector<uint64_t> offsets;
  for (int i = 0; i <= truth.images; ++i) offsets.push_back(static_cast<uint64_t>(i * per_image));
  c.CutAt(rois, offsets);
  const bool is_cascade = c.is_2x() && c.OneIn(3);
  const std::string overlaps =
      is_cascade ? absl::StrCat(", MaxOverlap=", c.Numbers({truth.images * per_image}, 0, 1.2f))
                 : "";
  c.Op("generate_proposal_labels(RpnRois=", rois, ", GtClasses=", truth.classes, ", ", truth.slots,
       ", ImInfo=", SomeImages(c, truth.images), overlaps,
       ") -> (Rois=rois, LabelsInt32=labels, BboxTargets=offsets, BboxInsideWeights=inside, "
       "BboxOutsideWeights=outside",
       c.is_2x() ? ", MaxOverlapWithGT=found" : "", ") {batch_size_per_im=", c.Between(0, 20),
       ", fg_fraction=", FloatText(c.Between(0.0f, 1.0f)),
       ", fg_thresh=", FloatText(c.Between(0.2f, 0.7f)),
       ", bg_thresh_hi=", FloatText(c.Between(0.2f, 0.7f)),
       ", bg_thresh_lo=0.0, bbox_reg_weights=[0.1, 0.1, 0.2, ", "0.2], class_nums=", classes,
       ", use_random=", BoolText(c.OneIn(2)), ", is_cls_agnostic=", BoolText(c.OneIn(3)),
       ", is_cascade_rcnn=", BoolText(is_cascade), "}");
  c.Exact();
}

}  // namespace

Generators DetectorGenerators() {
  return {{"yolov3_loss", YoloLoss},
          {"sigmoid_focal_loss", FocalLoss},
          {"prroi_pool", PrroiPool},
          {"locality_aware_nms", LocalityAwareNms},
          {"retinanet_detection_output", DetectionOutput},
          {"rpn_target_assign", RpnTargets},
          {"retinanet_target_assign", RetinanetTargets},
          {"generate_proposal_labels", ProposalLabels}};
}

}  // namespace fixpoint::random_cases
