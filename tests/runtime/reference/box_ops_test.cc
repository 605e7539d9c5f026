// Ops on boxes and regions.

#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

TEST(BoxOps, PriorBoxesStandAroundEachPlace) {
  EXPECT_EQ(RunOps(R"(prior_box(Input=x, Image=i) -> (Boxes=b, Variances=v) {min_sizes=[4.0],
                        max_sizes=[9.0], aspect_ratios=[4.0], flip=false, clip=false,
                        variances=[0.5, 0.25, 1.0, 2.0]})",
                   "x f32[1,1,1,1] 0\ni f32[1,1,8,16] " +
                       [] {
                         std::string zeros;
                         for (int i = 0; i < 128; ++i) zeros += " 0";
                         return zeros;
                       }() +
                       "\n"),
            "b f32[1,1,3,4] 0.375 0.25 0.625 0.75 0.25 0.375 0.75 0.625 0.3125 0.125 0.6875 0.875\n"
            "v f32[1,1,3,4] 0.5 0.25 1 2 0.5 0.25 1 2 0.5 0.25 1 2\n");
}

TEST(BoxOps, AnchorsAreInPixels) {
  EXPECT_EQ(RunOps(R"(anchor_generator(Input=x) -> (Anchors=b, Variances=v) {anchor_sizes=[32.0],
                        aspect_ratios=[1.0], variances=[1.0, 1.0, 1.0, 1.0], stride=[16.0, 16.0]})",
                   "x f32[1,1,1,2] 0 0\n"),
            "b f32[1,2,1,4] -8 -8 23 23 8 -8 39 23\nv f32[1,2,1,4] 1 1 1 1 1 1 1 1\n");
}

TEST(BoxOps, CodesAreRelativeToPriorBoxes) {
  const char* kInputs = "p f32[1,4] 0 0 4 4\nt f32[1,4] 2 2 6 4\nc f32[1,1,4] 0.5 0.25 0 0\n";
  EXPECT_EQ(RunOps("box_coder(PriorBox=p, TargetBox=t) -> (OutputBox=o)", kInputs),
            "o f32[1,1,4] 0.5 0.25 0 -0.693147182\n");
  EXPECT_EQ(RunOps("box_coder(PriorBox=p, TargetBox=c) -> (OutputBox=o) "
                   "{code_type=\"decode_center_size\", variance=[2.0, 4.0, 1.0, 1.0]}",
                   kInputs),
            "o f32[1,1,4] 4 4 8 8\n");
}

TEST(BoxOps, SimilarityIsCommonAreaOfAll) {
  EXPECT_EQ(RunOps("iou_similarity(X=x, Y=y) -> (Out=o)",
                   "x f32[1,4] 0 0 4 4\ny f32[2,4] 2 0 6 4 9 9 10 10\n"),
            "o f32[1,2] 0.333333343 0\n");
}

TEST(BoxOps, SuppressionKeepsWhatNoBetterBoxOverlaps) {
  const std::string inputs =
      "b f32[1,3,4] 0 0 4 4 1 0 5 4 8 8 9 9\ns f32[1,2,3] 0.5 0.75 nan 0.25 0.125 0.875\n";
  const std::string limits = "{score_threshold=0.2, nms_top_k=-1, keep_top_k=-1, ";
  EXPECT_EQ(RunOps("multiclass_nms(BBoxes=b, Scores=s) -> (Out=o) " + limits +
                       "background_label=-1, nms_threshold=0.5}",
                   inputs),
            "o f32[3,6] lod={0,3} 0 0.75 1 0 5 4 1 0.875 8 8 9 9 1 0.25 0 0 4 4\n");
  EXPECT_EQ(RunOps("multiclass_nms2(BBoxes=b, Scores=s) -> (Out=o, Index=i) " + limits +
                       "background_label=0}",
                   inputs),
            "i i32[2,1] lod={0,2} 2 0\no f32[2,6] lod={0,2} 1 0.875 8 8 9 9 1 0.25 0 0 4 4\n");
}

TEST(BoxOps, SuppressionOfNothingIsMinusOne) {
  EXPECT_EQ(RunOps("multiclass_nms(BBoxes=b, Scores=s) -> (Out=o) {score_threshold=0.2, "
                   "nms_top_k=-1, keep_top_k=-1}",
                   "b f32[1,1,4] 0 0 4 4\ns f32[1,1,1] 0.1\n"),
            "o f32[1,1] lod={0,1} -1\n");
}

TEST(BoxOps, MatchesTheLargestDistancesFirst) {
  EXPECT_EQ(RunOps("bipartite_match(DistMat=d) -> (ColToRowMatchIndices=i, ColToRowMatchDist=m) "
                   "{match_type=\"per_prediction\", dist_threshold=0.5}",
                   "d f32[3,3] lod={0,2,3} 0.5 0.75 0.25 0.25 1 0.625 0 nan 0.25\n"),
            "i i32[2,3] 0 1 1 -1 -1 0\nm f32[2,3] 0.5 1 0.625 0 0 0.25\n");
}

TEST(BoxOps, MinesTheLargestLosses) {
  EXPECT_EQ(RunOps("mine_hard_examples(ClsLoss=l, MatchIndices=m, MatchDist=d) -> (NegIndices=n, "
                   "UpdatedMatchIndices=u) {neg_pos_ratio=2.0, neg_dist_threshold=0.5}",
                   "l f32[2,4] 9 1 2 3 9 9 9 9\nm i32[2,4] 0 -1 -1 -1 -1 -1 -1 -1\n"
                   "d f32[2,4] 1 0 0 0 0 0 0 0\n"),
            "n i32[2,1] lod={0,2,2} 2 3\nu i32[2,4] 0 -1 -1 -1 -1 -1 -1 -1\n");
}

TEST(BoxOps, RegionsArePooled) {
  const std::string inputs = "x f32[1,1,2,2] 1 2 3 4\nr f32[1,4] 0 0 1 1\nn i32[1] 1\n";
  EXPECT_EQ(RunOps("roi_pool(X=x, ROIs=r, RoisNum=n) -> (Out=o, Argmax=a) {pooled_height=1, "
                   "pooled_width=2}",
                   inputs),
            "a i64[1,1,1,2] 2 3\no f32[1,1,1,2] 3 4\n");
  EXPECT_EQ(RunOps("roi_align(X=x, ROIs=r, RoisNum=n) -> (Out=o)", inputs), "o f32[1,1,1,1] 2.5\n");
}

TEST(BoxOps, WhereIndexNamesWhatIsTrue) {
  EXPECT_EQ(RunOps("where_index(Condition=c) -> (Out=o)", "c i32[2,2] 0 5 -1 0\n"),
            "o i64[2,2] 0 1 1 0\n");
}

TEST(BoxOps, SamplesLieBetweenElements) {
  EXPECT_EQ(RunOps("grid_sampler(X=x, Grid=g) -> (Output=o)",
                   "x f32[1,1,2,2] 1 2 3 4\ng f32[1,1,3,2] 0 0 1 1 2 0\n"),
            "o f32[1,1,1,3] 2.5 4 1.5\n");
}

TEST(BoxOps, ATapIsMovedByItsOffset) {
  EXPECT_EQ(RunOps("deformable_conv(Input=x, Offset=f, Filter=w, Mask=m) -> (Output=o)",
                   "x f32[1,1,2,2] 1 2 3 4\nf f32[1,2,2,2] 0 0.5 0 0 0.5 0 0 9\nw f32[1,1,1,1] 2\n"
                   "m f32[1,1,2,2] 1 1 0.5 1\n"),
            "o f32[1,1,2,2] 3 6 3 0\n");
}

TEST(BoxOps, RefuseWhatDoesNotFit) {
  EXPECT_EQ(RunOps("yolo_box(X=x, ImgSize=s) -> (Boxes=b, Scores=p) {anchors=[1, 2], "
                   "class_num=-5}",
                   "x f32[1,0,1,1]\ns i32[1,2] 1 1\n"),
            "block 0, op 0 (yolo_box): class_num is -5; want 1 or more");
  EXPECT_EQ(RunOps("multiclass_nms(BBoxes=b, Scores=s) -> (Out=o) {score_threshold=0.2, "
                   "nms_top_k=-1, keep_top_k=-1}",
                   "b f32[1,1,8] 0 0 4 4 0 0 0 0\ns f32[1,1,1] 0.1\n"),
            "block 0, op 0 (multiclass_nms): BBoxes is [1, 1, 8]; want boxes of 4 numbers");
  EXPECT_EQ(RunOps("roi_align(X=x, ROIs=r) -> (Out=o)", "x f32[1,1,1,1] 0\nr f32[1,4] 0 0 1 1\n"),
            "block 0, op 0 (roi_align): the offsets of ROIs do not cut its 1 rows; want them to");
}

}  // namespace
}  // namespace fixpoint::reference
