// Ops on boxes, regions and samples, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

constexpr char kBoxes[] =
    "boxes f32[1,5,4] 0 0 4 4  1 0 5 4  0 0 4 4.5  8 8 9 9  3 3 2 2\n"
    "scores f32[1,2,5] .1 .2 .3 .4 .5  .9 .8 .85 nan .7\n";

TEST(Boxes, ArePlacedAndCoded) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        prior_box(Input=x, Image=image) -> (Boxes=prior, Variances=v) {min_sizes=[4.0],
          max_sizes=[9.0], aspect_ratios=[2.0], variances=[0.1, 0.1, 0.2, 0.2], clip=false}
        reshape2(X=prior) -> (Out=flat) {shape=[-1, 4]}
        box_coder(PriorBox=flat, TargetBox=boxes) -> (OutputBox=code) {variance=[.1, .1, .2, .2]}
        box_coder(PriorBox=flat, TargetBox=code) -> (OutputBox=again) {variance=[.1, .1, .2, .2],
          code_type="decode_center_size"}
        iou_similarity(X=boxes, Y=flat) -> (Out=overlap)
        bipartite_match(DistMat=overlap) -> (ColToRowMatchIndices=match, ColToRowMatchDist=d) {
          match_type="per_prediction", dist_threshold=0.2}
      })",
                          Drawn("x", {1, 2, 2, 3}) + Drawn("image", {1, 3, 20, 30}) +
                              "boxes f32[2,4] .1 .1 .5 .6 .3 .2 .9 .7\n"),
            "");
}

TEST(Suppression, KeepsTheBestBoxesOfEachClass) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        multiclass_nms(BBoxes=boxes, Scores=scores) -> (Out=kept) {score_threshold=0.05,
          nms_top_k=-1, keep_top_k=-1, background_label=-1}
        multiclass_nms2(BBoxes=boxes, Scores=scores) -> (Out=best, Index=index) {
          score_threshold=0.05, nms_top_k=4, keep_top_k=2, background_label=-1}
        multiclass_nms3(BBoxes=boxes, Scores=scores) -> (Out=some, Index=i, NmsRoisNum=n) {
          score_threshold=0.05, nms_top_k=4, keep_top_k=2, background_label=0}
        matrix_nms(BBoxes=boxes, Scores=scores) -> (Out=decayed, Index=places, RoisNum=m) {
          score_threshold=0.05, nms_top_k=4, keep_top_k=9, background_label=-1}
      })",
                          kBoxes),
            "");
}

TEST(Suppression, OfNothingGivesNoRows) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        multiclass_nms(BBoxes=boxes, Scores=scores) -> (Out=kept) {score_threshold=2.0,
          nms_top_k=-1, keep_top_k=-1}
        multiclass_nms3(BBoxes=boxes, Scores=scores) -> (Out=some, Index=i, NmsRoisNum=n) {
          score_threshold=2.0, nms_top_k=4, keep_top_k=2}
        scale(X=some) -> (Out=scaled) {scale=2.0}
        gather(X=boxes2, Index=i) -> (Out=picked)
      })",
                          std::string(kBoxes) + "boxes2 f32[2,3] 1 2 3 4 5 6\n"),
            "");
}

TEST(Regions, ArePooled) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        roi_align(X=x, ROIs=rois, RoisNum=n) -> (Out=average) {pooled_height=2, pooled_width=3,
          spatial_scale=0.5, aligned=true}
        roi_align(X=x, ROIs=rois, RoisNum=n) -> (Out=plain) {pooled_height=2, pooled_width=2,
          sampling_ratio=2}
        roi_pool(X=x, ROIs=rois, RoisNum=n) -> (Out=largest, Argmax=place) {pooled_height=2,
          pooled_width=2, spatial_scale=0.5}
      })",
                          Drawn("x", {2, 3, 6, 5}) +
                              "n i32[2] 1 4\nrois f32[5,4] 0 0 9 9  2 1 8 7  3 3 3 3  -9 -9 -8 -8 "
                              "1e30 0 nan 5\n"),
            "");
}

// Each bin of a region reads channels of its own.
TEST(Regions, ArePooledFromTheirOwnChannels) {
  for (const char* version : {"1008005", "2006002"}) {
    EXPECT_EQ(OpDifferences(absl::StrCat("program version=", version, R"(
      block 0 {
        psroi_pool(X=x, ROIs=rois) -> (Out=y) {output_channels=2, pooled_height=2, pooled_width=3,
          spatial_scale=0.5}
        psroi_pool_grad(X=x, ROIs=rois, Out@GRAD=y) -> (X@GRAD=dx) {output_channels=2,
          pooled_height=2, pooled_width=3, spatial_scale=0.5}
      })"),
                            Drawn("x", {2, 12, 6, 5}) +
                                "rois f32[5,4] lod={0,1,5} 0 0 9 9  2 1 8 7  3 3 3 3  -9 -9 -8 -8 "
                                "1e30 0 nan 5\n"),
              "")
        << version;
  }
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        psroi_pool(X=x, ROIs=rois, RoisNum=n) -> (Out=y) {output_channels=2, pooled_height=2,
          pooled_width=2}
      })",
                            Drawn("x", {1, 6, 6, 5}) + "n i32[1] 1\nrois f32[1,4] 0 0 9 9\n", 0),
              testing::HasSubstr("X is [1, 6, 6, 5]; want 8 channels, one for each bin"));
}

TEST(Regions, AreProposedSpreadPooledAndCollected) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        generate_proposals_v2(Scores=scores, BboxDeltas=deltas, ImShape=size, Anchors=anchors,
          Variances=variances) -> (RpnRois=rois, RpnRoiProbs=probabilities, RpnRoisNum=n) {
          pre_nms_topN=10, post_nms_topN=5, nms_thresh=0.7, min_size=1.0, eta=1.0}
        distribute_fpn_proposals(FpnRois=rois, RoisNum=n) -> (MultiFpnRois=[a, b],
          RestoreIndex=back, MultiLevelRoIsNum=[an, bn]) {min_level=2, max_level=3, refer_level=2,
          refer_scale=10}
        roi_align(X=x, ROIs=a, RoisNum=an) -> (Out=low) {pooled_height=2, pooled_width=2}
        roi_pool(X=x, ROIs=b, RoisNum=bn) -> (Out=high, Argmax=place) {pooled_height=2,
          pooled_width=2}
        collect_fpn_proposals(MultiLevelRois=[rois, rois], MultiLevelScores=[probabilities,
          probabilities], MultiLevelRoIsNum=[n, n]) -> (FpnRois=best, RoisNum=m) {post_nms_topN=6}
      })",
                          Drawn("scores", {2, 2, 2, 3}) + Drawn("deltas", {2, 8, 2, 3}) +
                              "size f32[2,2] 20 30 15 25\n" + Drawn("x", {2, 2, 20, 30}) +
                              "anchors f32[2,3,2,4] 0 0 9 9 0 0 5 12 3 0 12 9 3 0 8 12 6 0 15 9 6 "
                              "0 11 12 0 3 9 12 0 3 5 15 3 3 12 12 3 3 8 15 6 3 15 12 6 3 11 15\n" +
                              "variances f32[2,3,2,4] 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
                              "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"),
            "");
}

TEST(Regions, RefuseCountsThatDoNotFit) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        roi_align(X=x, ROIs=rois, RoisNum=n) -> (Out=y)
      })",
                          Drawn("x", {1, 1, 4, 4}) + "n i32[1] 2\nrois f32[1,4] 0 0 3 3\n"),
            "executor: block 0, op 0 (roi_align): the counts of images has 2 for image 0 and 1 "
            "regions are left; want 0 to as many\n"
            "interpreter: block 0, op 0 (roi_align): RoisNum has 2 for image 0 and 1 regions are "
            "left; want 0 to as many\n");
}

TEST(Matching, AssignsTargetsAndMinesExamples) {
  EXPECT_EQ(OpDifferences(R"(program version=1008005
      block 0 {
        mine_hard_examples(ClsLoss=loss, MatchIndices=match, MatchDist=distance) -> (
          NegIndices=negative, UpdatedMatchIndices=updated) {neg_pos_ratio=2.0}
        target_assign(X=label, MatchIndices=updated, NegIndices=negative) -> (
          Out=target, OutWeight=weight) {mismatch_value=7}
        target_assign(X=box, MatchIndices=match) -> (Out=boxes, OutWeight=which)
        smooth_l1_loss(X=a, Y=b, InsideWeight=a, OutsideWeight=b) -> (Diff=d, Out=l) {sigma=2.0}
        smooth_l1_loss_grad(InsideWeight=a, OutsideWeight=b, Diff=d, Out@GRAD=l) -> (
          X@GRAD=da, Y@GRAD=db) {sigma=2.0}
      })",
                          "loss f32[2,4] 1 nan 3 2 5 6 7 8\nmatch i32[2,4] 0 -1 -1 -1 -1 1 0 -1\n"
                          "distance f32[2,4] .9 .1 .2 .3 .1 .8 .7 .2\n"
                          "label i32[3,1,1] lod={0,1,3} 4 5 6\n"
                          "box f32[3,4,2] lod={0,1,3} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "
                          "19 20 21 22 23 24\n" +
                              Drawn("a", {3, 4}) + Drawn("b", {3, 4})),
            "");
}

TEST(Samples, AreTakenFromGridsAndMovedTaps) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        grid_sampler(X=x, Grid=grid) -> (Output=zeros)
        grid_sampler(X=x, Grid=grid) -> (Output=border) {padding_mode="border",
          align_corners=false}
        grid_sampler(X=x, Grid=grid) -> (Output=mirrored) {padding_mode="reflection"}
        grid_sampler(X=x, Grid=grid) -> (Output=nearest) {mode="nearest"}
        grid_sampler_grad(X=x, Grid=grid, Output@GRAD=zeros) -> (X@GRAD=dx, Grid@GRAD=dgrid)
        deformable_conv(Input=x, Offset=offset, Filter=w, Mask=mask) -> (Output=y) {
          deformable_groups=2, paddings=[1, 1]}
        deformable_conv_grad(Input=x, Offset=offset, Filter=w, Mask=mask, Output@GRAD=y) -> (
          Input@GRAD=di, Offset@GRAD=doffset, Filter@GRAD=dw, Mask@GRAD=dmask) {
          deformable_groups=2, paddings=[1, 1]}
        deformable_conv_v1(Input=x, Offset=offset, Filter=half) -> (Output=z) {
          deformable_groups=2, paddings=[1, 1], groups=2}
      })",
                          Drawn("x", {2, 4, 3, 5}) + Drawn("grid", {2, 4, 3, 2}) +
                              Drawn("offset", {2, 36, 3, 5}) + Drawn("mask", {2, 18, 3, 5}) +
                              Drawn("w", {3, 4, 3, 3}) + Drawn("half", {2, 2, 3, 3})),
            "");
}

TEST(Samples, BesideTheImageOrOfNoNumberAreZero) {
  EXPECT_EQ(
      OpDifferences(R"(program version=2006002
      block 0 {
        grid_sampler(X=x, Grid=grid) -> (Output=zeros)
        grid_sampler(X=x, Grid=grid) -> (Output=border) {padding_mode="border"}
        grid_sampler(X=x, Grid=grid) -> (Output=mirrored) {padding_mode="reflection"}
        grid_sampler(X=x, Grid=grid) -> (Output=nearest) {mode="nearest"}
      })",
                    Drawn("x", {1, 1, 1, 5}) + "grid f32[1,1,4,2] nan 0 inf -inf 1e30 0 -7 0.5\n"),
      "");
}

// The last level cuts places; the others count sequences, of which there may be more.
TEST(TargetAssign, TakesNegativePlacesByTheLastLevel) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        var a tensor_array i32[-1,1]
        write_to_array(X=n, I=i) -> (Out=a)
        read_from_array(X=a, I=i) -> (Out=negative)
        target_assign(X=x, MatchIndices=m, NegIndices=negative) -> (Out=y, OutWeight=w) {
          mismatch_value=0}
      })",
                            "x f32[3,1,1] lod={0,1,2,3} 1 2 3\nm i32[3,2] 0 -1 0 -1 -1 -1\n"
                            "n i32[1,1] lod={0,2,4,6}{0,0,0,0,0,0,1} 1\ni i64[1] 0\n",
                            0, {"y", "w"}),
              testing::HasSubstr("NegIndices is of 6 images; want 3, as X is"));
}

}  // namespace
}  // namespace fixpoint::executor
