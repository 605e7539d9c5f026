// Ops that train detectors, and that one kind of detector has.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

// Each cross entropy of a zero is log(2). The box is the anchor, in the middle of the only cell.
TEST(DetectorOps, YolosLossIsOfPlacesClassesAndObjects) {
  const std::string op =
      "yolov3_loss(X=x, GTBox=b, GTLabel=l) -> (Loss=o, ObjectnessMask=s, GTMatchMask=m) "
      "{anchors=[16, 16], anchor_mask=[0], class_num=1, use_label_smooth=false}";
  const std::string x = "x f32[1,6,1,1] 0 0 0 0 0 0\nl i32[1,1] 0\n";
  EXPECT_EQ(RunOps(op, x + "b f32[1,1,4] 0.5 0.5 0 0.5\n"),
            "m i32[1,1] -1\no f32[1] 0.693147182\ns f32[1,1,1,1] 0\n");
  EXPECT_EQ(RunOps(op, x + "b f32[1,1,4] 0.5 0.5 0.5 0.5\n"),
            "m i32[1,1] 0\no f32[1] 3.8123095\ns f32[1,1,1,1] 1\n");
  EXPECT_EQ(RunOps(op, x + "b f32[1,1,4] 1 0.5 0.5 0.5\n"),
            "block 0, op 0 (yolov3_loss): GTBox has a box around (1, 0.5); want its centre in the "
            "image, at 0 or more and below 1");
}

// sigmoid(0) is 1/2: 1/4 * log(2) by alpha or 1 - alpha.
TEST(DetectorOps, FocalLossIsOfEachClass) {
  EXPECT_EQ(RunOps("sigmoid_focal_loss(X=x, Label=l, FgNum=n) -> (Out=o)",
                   "x f32[3,2] 0 0 0 0 0 0\nl i32[3,1] 2 0 -1\nn i32[1] 2\n"),
            "o f32[3,2] 0.0649825484 0.0216608495 0.0649825484 0.0649825484 0 0\n");
}

// The image goes to 0 within a place of its last column.
TEST(DetectorOps, RegionsAreIntegrated) {
  EXPECT_EQ(RunOps("prroi_pool(X=x, ROIs=r, BatchRoINums=n) -> (Out=o) {pooled_width=2}",
                   "x f32[1,1,2,2] 1 2 3 4\nr f32[3,4] 0 0 2 1 0.5 0 2.5 1 1 1 1 2\nn i64[1] 3\n"),
            "o f32[3,1,1,2] 2.5 1.5 2.5 0.375 0 0\n");
}

TEST(DetectorOps, BoxesThatFollowEachOtherAreMerged) {
  const std::string op =
      "locality_aware_nms(BBoxes=b, Scores=s) -> (Out=o) {score_threshold=0.2, nms_top_k=-1, "
      "keep_top_k=-1}";
  EXPECT_EQ(RunOps(op, "b f32[1,3,4] 0 0 4 4 0 0 4 2 8 8 9 9\ns f32[1,1,3] 0.75 0.25 0.125\n"),
            "o f32[1,6] lod={0,1} 0 1 0 0 4 3.5\n");
  EXPECT_EQ(RunOps(op, "b f32[1,1,4] 0 0 4 4\ns f32[1,1,1] 0.1\n"), "o f32[1,1] lod={0,1} -1\n");
}

TEST(DetectorOps, DetectionsOfAllLevelsAreDecodedAndScaledBack) {
  EXPECT_EQ(RunOps("retinanet_detection_output(BBoxes=b, Scores=s, Anchors=a, ImInfo=i) -> (Out=o) "
                   "{score_threshold=0.2, nms_top_k=9, keep_top_k=9, nms_threshold=0.5, "
                   "nms_eta=1.0}",
                   "b f32[1,2,4] 0 0 0 0 0 0 0 0\ns f32[1,2,2] 0.5 0.75 0.25 0\n"
                   "a f32[2,4] 2 2 5 5 2 2 5 6\ni f32[1,3] 20 20 2\n"),
            "o f32[2,6] lod={0,2} 2 0.75 1 1 2.5 2.5 1 0.5 1 1 2.5 2.5\n");
}

constexpr char kTruth[] =
    "g f32[1,4] lod={0,1} 0 0 9 9\nc i32[1,1] lod={0,1} 0\ni f32[1,3] 40 40 1\n"
    "k i32[1,1] lod={0,1} 2\n";

// The first anchor is the true box, the second far from it, and half of the third is in it.
TEST(DetectorOps, AnchorsLearnWhatTheyOverlap) {
  const std::string inputs = std::string(kTruth) + "a f32[3,4] 0 0 9 9 20 20 29 29 0 0 9 19\n";
  const std::string outputs =
      "LocationIndex=l, ScoreIndex=s, TargetBBox=t, TargetLabel=y, BBoxInsideWeight=w";
  EXPECT_EQ(RunOps("rpn_target_assign(Anchor=a, GtBoxes=g, IsCrowd=c, ImInfo=i) -> (" + outputs +
                       ") {rpn_straddle_thresh=0.0}",
                   inputs),
            "l i32[1] lod={0,1} 0\ns i32[2] lod={0,2} 0 1\nt f32[1,4] lod={0,1} 0 0 0 0\n"
            "w f32[1,4] lod={0,1} 1 1 1 1\ny i32[2,1] lod={0,2} 1 0\n");
  EXPECT_EQ(RunOps("retinanet_target_assign(Anchor=a, GtBoxes=g, GtLabels=k, IsCrowd=c, ImInfo=i) "
                   "-> (" +
                       outputs + ", ForegroundNumber=n) {positive_overlap=0.6}",
                   inputs),
            "l i32[1] lod={0,1} 0\nn i32[1,1] lod={0,1} 2\ns i32[2] lod={0,2} 0 1\n"
            "t f32[1,4] lod={0,1} 0 0 0 0\nw f32[1,4] lod={0,1} 1 1 1 1\n"
            "y i32[2,1] lod={0,2} 2 0\n");
}

// 0.7f is a little less than 0.7, and 10 times it in float is 7.
TEST(DetectorOps, ThePartThatShowsAnObjectIsCountedInFloat) {
  std::string anchors = "a f32[10,4]";
  std::string proposals = "r f32[9,4] lod={0,9}";
  for (int i = 0; i < 10; ++i) anchors += " 0 0 9 9";
  for (int i = 0; i < 9; ++i) proposals += " 0 0 9 9";
  EXPECT_THAT(RunOps("rpn_target_assign(Anchor=a, GtBoxes=g, IsCrowd=c, ImInfo=i) -> "
                     "(LocationIndex=l, ScoreIndex=s, TargetBBox=t, TargetLabel=y, "
                     "BBoxInsideWeight=w) {rpn_straddle_thresh=0.0, rpn_batch_size_per_im=10, "
                     "rpn_fg_fraction=0.7, use_random=false}",
                     kTruth + anchors + "\n"),
              testing::HasSubstr("l i32[7] lod={0,7} 0 1 2 3 4 5 6\n"));
  EXPECT_THAT(RunOps("generate_proposal_labels(RpnRois=r, GtClasses=k, IsCrowd=c, GtBoxes=g, "
                     "ImInfo=i) -> (Rois=o, LabelsInt32=l, BboxTargets=t, BboxInsideWeights=w, "
                     "BboxOutsideWeights=v) {batch_size_per_im=10, fg_fraction=0.7, "
                     "fg_thresh=0.6, bg_thresh_hi=0.6, bg_thresh_lo=0.1, "
                     "bbox_reg_weights=[1.0, 1.0, 1.0, 1.0], class_nums=3, use_random=false}",
                     kTruth + proposals + "\n"),
              testing::HasSubstr("l i32[7,1] lod={0,7} 2 2 2 2 2 2 2\n"));
}

// True boxes are examples too.
TEST(DetectorOps, ProposalsLearnWhatTheyOverlap) {
  EXPECT_EQ(RunOps("generate_proposal_labels(RpnRois=r, GtClasses=k, IsCrowd=c, GtBoxes=g, "
                   "ImInfo=i) -> (Rois=o, LabelsInt32=l, BboxTargets=t, BboxInsideWeights=w, "
                   "BboxOutsideWeights=v) {batch_size_per_im=4, "
                   "fg_fraction=0.5, fg_thresh=0.6, bg_thresh_hi=0.6, bg_thresh_lo=0.1, "
                   "bbox_reg_weights=[1.0, 1.0, 1.0, 1.0], class_nums=2, is_cls_agnostic=true}",
                   std::string(kTruth) + "r f32[2,4] lod={0,2} 0 0 9 19 20 20 29 29\n"),
            "l i32[2,1] lod={0,2} 2 0\n"
            "o f32[2,4] lod={0,2} 0 0 9 9 0 0 9 19\n"
            "t f32[2,8] lod={0,2} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
            "v f32[2,8] lod={0,2} 0 0 0 0 1 1 1 1 0 0 0 0 0 0 0 0\n"
            "w f32[2,8] lod={0,2} 0 0 0 0 1 1 1 1 0 0 0 0 0 0 0 0\n");
}

TEST(DetectorOps, RefuseWhatDoesNotFit) {
  EXPECT_EQ(RunOps("rpn_target_assign(Anchor=a, GtBoxes=g, IsCrowd=c, ImInfo=i) -> "
                   "(LocationIndex=l, ScoreIndex=s, TargetBBox=t, TargetLabel=y, "
                   "BBoxInsideWeight=w) {rpn_straddle_thresh=0.0, rpn_fg_fraction=1.5}",
                   std::string(kTruth) + "a f32[1,4] 0 0 9 9\n"),
            "block 0, op 0 (rpn_target_assign): rpn_fg_fraction is 1.5; want at most 1");
  EXPECT_EQ(RunOps("generate_proposal_labels(RpnRois=r, GtClasses=k, IsCrowd=c, GtBoxes=g, "
                   "ImInfo=i) -> (Rois=o, LabelsInt32=l, BboxTargets=t, BboxInsideWeights=w, "
                   "BboxOutsideWeights=v) {batch_size_per_im=4, fg_fraction=0.5, fg_thresh=0.6, "
                   "bg_thresh_hi=0.6, bg_thresh_lo=0.1, bbox_reg_weights=[1.0, 1.0, 1.0, 1.0], "
                   "class_nums=2}",
                   std::string(kTruth) + "r f32[1,4] lod={0,1} 0 0 9 19\n"),
            "block 0, op 0 (generate_proposal_labels): there are targets of class 2 and "
            "class_nums is 2; want more");
}

TEST(DetectorOps, AWeightIsDividedByItsLargestSingularValue) {
  EXPECT_EQ(RunOps("spectral_norm(Weight=w, U=u, V=v) -> (Out=o) {dim=1}",
                   "w f32[2,2] 0 3 1 0\nu f32[2] 0 1\nv f32[2] 0 9\n"),
            "o f32[2,2] 0 1 0.333333343 0\n");
}

}  // namespace
}  // namespace fixpoint::reference
