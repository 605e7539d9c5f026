// Ops that train detectors, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(YoloLoss, AndItsGradient) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        yolov3_loss(X=x, GTBox=box, GTLabel=label, GTScore=score) -> (Loss=loss,
          ObjectnessMask=seen, GTMatchMask=match) {anchors=[8, 10, 16, 20, 60, 50],
          anchor_mask=[0, 1], class_num=3, ignore_thresh=0.2}
        yolov3_loss_grad(X=x, GTBox=box, GTLabel=label, GTScore=score, Loss@GRAD=loss,
          ObjectnessMask=seen, GTMatchMask=match) -> (X@GRAD=dx) {
          anchors=[8, 10, 16, 20, 60, 50], anchor_mask=[0, 1], class_num=3, ignore_thresh=0.2}
      })",
                          Drawn("x", {2, 16, 3, 3}) +
                              "box f32[2,2,4] .3 .2 .3 .4 .8 .7 .2 .2 .6 .6 .9 .8 .5 .5 0 .2\n"
                              "label i32[2,2] 0 1 2 1\nscore f32[2,2] 1 .5 .25 1\n"),
            "");
}

TEST(YoloLoss, RefusesMatchesOfNoAnchor) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        yolov3_loss_grad(X=x, GTBox=box, GTLabel=label, Loss@GRAD=loss, ObjectnessMask=seen,
          GTMatchMask=match) -> (X@GRAD=dx) {anchors=[8, 10], anchor_mask=[0], class_num=1}
      })",
                            Drawn("x", {1, 6, 1, 1}) +
                                "box f32[1,1,4] .5 .5 .5 .5\nlabel i32[1,1] 0\nloss f32[1] 1\n"
                                "seen f32[1,1,1,1] 0\nmatch i32[1,1] 1\n"),
              testing::HasSubstr("GTMatchMask has 1; want -1 to 0"));
}

// The run decides which rows have targets.
TEST(FocalLoss, IsOfTheAnchorsThatCount) {
  EXPECT_EQ(
      OpDifferences(R"(program version=2006002
      block 0 {
        retinanet_target_assign(Anchor=a, GtBoxes=g, GtLabels=k, IsCrowd=c, ImInfo=i) -> (
          LocationIndex=l, ScoreIndex=s, TargetBBox=t, TargetLabel=y, BBoxInsideWeight=w,
          ForegroundNumber=n) {positive_overlap=0.5, negative_overlap=0.3}
        gather(X=x, Index=s) -> (Out=rows)
        sigmoid_focal_loss(X=rows, Label=y, FgNum=count) -> (Out=loss)
        sigmoid_focal_loss_grad(X=rows, Label=y, FgNum=count, Out@GRAD=loss) -> (X@GRAD=dx)
      })",
                    Drawn("x", {4, 3}) + "a f32[4,4] 0 0 9 9 20 20 29 29 0 0 9 19 1 1 9 9\n"
                                         "g f32[2,4] lod={0,2} 0 0 9 9 20 22 31 31\n"
                                         "k i32[2,1] lod={0,2} 3 1\nc i32[2,1] lod={0,2} 0 0\n"
                                         "i f32[1,3] 40 40 1\ncount i32[1] 3\n"),
      "");
}

// Of wide labels the lowest 32 bits.
TEST(Targets, HaveNarrowLabels) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        retinanet_target_assign(Anchor=a, GtBoxes=g, GtLabels=k, IsCrowd=c, ImInfo=i) -> (
          LocationIndex=l, ScoreIndex=s, TargetBBox=t, TargetLabel=y, BBoxInsideWeight=w,
          ForegroundNumber=n) {positive_overlap=0.5, negative_overlap=0.3}
      })",
                          "a f32[2,4] 0 0 9 9 20 20 29 29\ng f32[1,4] lod={0,1} 0 0 9 9\n"
                          "k i64[1,1] lod={0,1} 4294967298\nc i32[1,1] lod={0,1} 0\n"
                          "i f32[1,3] 40 40 1\n"),
            "");
}

// The run decides how many of the integers there are.
TEST(Targets, RefuseAnotherNumberOfIntegersThanOfBoxes) {
  const std::string numbers =
      "some bool[2] 1 0\nall bool[2] 1 1\nz i32[2] 0 0\no f32[2] 0.5 0.5\n"
      "a f32[2,4] 0 0 9 9 20 20 29 29\ng f32[2,4] lod={0,2} 0 0 9 9 20 20 29 29\n"
      "r f32[2,4] lod={0,2} 0 0 9 9 20 20 25 29\ni f32[1,3] 40 40 1\n";
  const auto differences = [&](const std::string& crowds, const std::string& labels,
                               const std::string& overlaps) {
    return OpDifferences(R"(program version=2006002
      block 0 {
        masked_select(X=z, Mask=)" +
                             crowds +
                             R"() -> (Y=c)
        masked_select(X=z, Mask=)" +
                             labels + R"() -> (Y=k)
        masked_select(X=o, Mask=)" +
                             overlaps + R"() -> (Y=m)
        generate_proposal_labels(RpnRois=r, GtClasses=k, IsCrowd=c, GtBoxes=g, ImInfo=i,
          MaxOverlap=m) -> (Rois=examples, LabelsInt32=l, BboxTargets=t, BboxInsideWeights=w,
          BboxOutsideWeights=v, MaxOverlapWithGT=n) {batch_size_per_im=4, fg_fraction=0.5,
          fg_thresh=0.3, bg_thresh_hi=0.3, bg_thresh_lo=0.0,
          bbox_reg_weights=[0.1, 0.1, 0.2, 0.2], class_nums=3, is_cascade_rcnn=true}
      })",
                         numbers);
  };
  const auto is_told_by_both = [](const std::string& told) {
    const std::string error = "block 0, op 3 (generate_proposal_labels): " + told + "\n";
    return testing::AllOf(testing::HasSubstr("executor: " + error),
                          testing::HasSubstr("interpreter: " + error));
  };
  EXPECT_EQ(differences("all", "all", "all"), "");
  EXPECT_THAT(differences("some", "all", "all"),
              is_told_by_both("IsCrowd is [1]; want 2 elements"));
  EXPECT_THAT(differences("all", "some", "all"),
              is_told_by_both("GtClasses is [1]; want 2 elements"));
  EXPECT_THAT(differences("all", "all", "some"),
              is_told_by_both("MaxOverlap is [1]; want 2 elements"));
}

TEST(Detections, OfEachKind) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        locality_aware_nms(BBoxes=boxes, Scores=scores) -> (Out=merged) {score_threshold=0.05,
          nms_top_k=4, keep_top_k=3, background_label=-1}
        locality_aware_nms(BBoxes=boxes, Scores=scores) -> (Out=none) {score_threshold=5.0,
          nms_top_k=-1, keep_top_k=-1}
        retinanet_detection_output(BBoxes=[d, e], Scores=[p, q], Anchors=[a, b], ImInfo=i) -> (
          Out=best) {score_threshold=0.05, nms_top_k=4, keep_top_k=5, nms_threshold=0.4,
          nms_eta=1.0}
      })",
                          "boxes f32[1,5,4] 0 0 4 4  1 0 5 4  0 0 4 4.5  8 8 9 9  3 3 2 2\n"
                          "scores f32[1,2,5] .1 .2 .3 .4 .5  .9 .8 .85 nan .7\n" +
                              Drawn("d", {1, 3, 4}) + Drawn("e", {1, 2, 4}) +
                              Drawn("p", {1, 3, 2}) + Drawn("q", {1, 2, 2}) +
                              "a f32[3,4] 0 0 9 9 2 2 8 8 20 20 29 29\n"
                              "b f32[2,4] 0 0 19 19 5 5 30 30\ni f32[1,3] 40 30 1.5\n"),
            "");
}

TEST(Proposals, AreLabelledAndIntegrated) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        generate_proposals(Scores=scores, BboxDeltas=deltas, ImInfo=i, Anchors=anchors,
          Variances=variances) -> (RpnRois=rois, RpnRoiProbs=probabilities, RpnRoisNum=n) {
          pre_nms_topN=10, post_nms_topN=5, nms_thresh=0.9, min_size=1.0, eta=1.0}
        generate_proposal_labels(RpnRois=rois, GtClasses=k, IsCrowd=c, GtBoxes=g, ImInfo=i) -> (
          Rois=examples, LabelsInt32=l, BboxTargets=t, BboxInsideWeights=w, BboxOutsideWeights=v,
          MaxOverlapWithGT=m) {batch_size_per_im=4, fg_fraction=0.5, fg_thresh=0.3,
          bg_thresh_hi=0.3, bg_thresh_lo=0.0, bbox_reg_weights=[0.1, 0.1, 0.2, 0.2],
          class_nums=3}
        prroi_pool(X=x, ROIs=examples) -> (Out=pooled) {pooled_height=2, pooled_width=2}
        prroi_pool_grad(X=x, ROIs=examples, Out=pooled, Out@GRAD=pooled) -> (X@GRAD=dx,
          ROIs@GRAD=drois) {pooled_height=2, pooled_width=2}
      })",
                          Drawn("scores", {2, 2, 1, 3}) + Drawn("deltas", {2, 8, 1, 3}) +
                              "i f32[2,3] 20 30 1 15 25 0.5\n" + Drawn("x", {2, 2, 20, 30}) +
                              "anchors f32[1,3,2,4] 0 0 9 9 0 0 5 12 3 0 12 9 3 0 8 12 6 0 15 9 6 "
                              "0 11 12\n"
                              "variances f32[1,3,2,4] 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
                              "1 1\n"
                              "g f32[3,4] lod={0,1,3} 0 0 9 9 1 2 8 9 4 4 20 20\n"
                              "k i32[3,1] lod={0,1,3} 1 2 1\nc i32[3,1] lod={0,1,3} 0 0 1\n"),
            "");
}

// The interpreter has no memory for such dims.
TEST(SpectralNorm, OfNoElementsEnds) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        spectral_norm(Weight=w, U=u, V=v) -> (Out=y) {dim=1}
        spectral_norm_grad(Weight=w, U=u, V=v, Out@GRAD=y) -> (Weight@GRAD=dw) {dim=1}
      })",
                            "w f32[1099511627776,3,0]\nu f32[3] 1 1 1\nv f32[0]\n"),
              testing::HasSubstr("executor: \n"));
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        spectral_norm(Weight=w, U=u, V=v) -> (Out=y) {power_iters=2}
      })",
                          "w f32[0,3]\nu f32[0]\nv f32[3] 1 2 3\n"),
            "");
}

TEST(SpectralNorm, AndItsGradient) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        spectral_norm(Weight=w, U=u, V=v) -> (Out=y) {dim=1, power_iters=2}
        spectral_norm_grad(Weight=w, U=u, V=v, Out@GRAD=y) -> (Weight@GRAD=dw) {dim=1,
          power_iters=2}
      })",
                          Drawn("w", {4, 3, 2}) + "u f32[3] .5 .25 .75\n" + Drawn("v", {8})),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
