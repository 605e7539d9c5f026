// What is inferred of ops on boxes, regions and samples.

#include <gtest/gtest.h>

#include "tests/ops/inferred_outputs.h"

namespace fixpoint {
namespace {

TEST_P(Infer, TellsTheOutputs) { ExpectOutputs(); }

constexpr InferCase kPlaced[] = {
    {R"(var x f32[-1,3,10,12]
        var i f32[-1,3,300,300]
        prior_box(Input=x, Image=i) -> (Boxes=b, Variances=v) {min_sizes=[60.0, 30.0],
          max_sizes=[90.0, 60.0], aspect_ratios=[2.0, 3.0], variances=[0.1, 0.1, 0.2, 0.2]})",
     "Boxes=FP32[10, 12, 12, 4] Variances=FP32[10, 12, 12, 4]"},
    {R"(var x f32[1,3,10,12]
        prior_box(Input=x, Image=i) -> (Boxes=b, Variances=v) {min_sizes=[60.0],
          aspect_ratios=[1.0, 2.0, 2.0], flip=false})",
     "Boxes=FP32[10, 12, 2, 4] Variances=FP32[10, 12, 2, 4]"},
    {R"(var x f32[1,3,10,12]
        prior_box(Input=x, Image=i) -> (Boxes=b, Variances=v) {min_sizes=[60.0, 30.0],
          max_sizes=[90.0]})",
     "error: max_sizes has 1 values; want 2"},
    {R"(var x f32[1,3,10,12]
        prior_box(Input=x, Image=i) -> (Boxes=b, Variances=v) {min_sizes=[-6.0]})",
     "error: min_sizes has -6; want positive numbers"},
    {R"(var x f32[1,3,10,12]
        prior_box(Input=x, Image=i) -> (Boxes=b, Variances=v) {min_sizes=[6.0],
          aspect_ratios=[0.0]})",
     "error: aspect_ratios has 0; want positive numbers"},
    {R"(var x f32[1,10,12]
        prior_box(Input=x, Image=i) -> (Boxes=b, Variances=v) {min_sizes=[6.0]})",
     "error: Input is [1, 10, 12]; want 4 dimensions"},
    {R"(var x f32[1,3,10,12]
        density_prior_box(Input=x, Image=i) -> (Boxes=b, Variances=v) {fixed_sizes=[32.0, 64.0],
          fixed_ratios=[1.0, 2.0], densities=[2, 1], variances=[0.1, 0.1, 0.2, 0.2]})",
     "Boxes=FP32[10, 12, 10, 4] Variances=FP32[10, 12, 10, 4]"},
    {R"(var x f32[1,3,10,12]
        density_prior_box(Input=x, Image=i) -> (Boxes=b, Variances=v) {fixed_sizes=[32.0],
          fixed_ratios=[1.0], densities=[2], flatten_to_2d=true, variances=[0.1]})",
     "Boxes=FP32[480, 4] Variances=FP32[480, 4]"},
    {R"(var x f32[1,3,10,12]
        density_prior_box(Input=x, Image=i) -> (Boxes=b, Variances=v) {fixed_sizes=[32.0],
          fixed_ratios=[1.0], densities=[2147483647], variances=[0.1]})",
     "error: densities has 2147483647; want 1 to 32768"},
    {R"(var x f32[1,3,10,12]
        anchor_generator(Input=x) -> (Anchors=b, Variances=v) {anchor_sizes=[64.0, 128.0],
          aspect_ratios=[0.5, 1.0, 2.0], variances=[0.1, 0.1, 0.2, 0.2]})",
     "Anchors=FP32[10, 12, 6, 4] Variances=FP32[10, 12, 6, 4]"},
    {R"(var x f32[1,3,10,12]
        anchor_generator(Input=x) -> (Anchors=b, Variances=v) {anchor_sizes=[64.0],
          aspect_ratios=[1.0], stride=[16.0], variances=[0.1]})",
     "error: stride has 1 values; want 2"},
};
INSTANTIATE_TEST_SUITE_P(Placed, Infer, testing::ValuesIn(kPlaced));

constexpr InferCase kCoded[] = {
    {R"(var p f32[5,4]
        var t f32[3,4]
        box_coder(PriorBox=p, TargetBox=t) -> (OutputBox=o))",
     "OutputBox=FP32[3, 5, 4]"},
    {R"(var p f32[5,4]
        var t f32[3,5,4]
        box_coder(PriorBox=p, TargetBox=t) -> (OutputBox=o) {code_type="decode_center_size"})",
     "OutputBox=FP32[3, 5, 4]"},
    {R"(var p f32[5,4]
        var t f32[3,5,4]
        box_coder(PriorBox=p, TargetBox=t) -> (OutputBox=o) {code_type="decode_center_size",
          axis=1})",
     "error: PriorBox is [5, 4] and TargetBox [3, 5, 4]; want [N, 4] and [N, M, 4]"},
    {R"(var p f32[5,4]
        var t f32[3,5,4]
        box_coder(PriorBox=p, TargetBox=t) -> (OutputBox=o) {code_type="corners"})",
     "error: code_type is \"corners\"; want encode_center_size or decode_center_size"},
    {R"(var p f32[5,4]
        var t f32[3,4]
        box_coder(PriorBox=p, PriorBoxVar=p, TargetBox=t) -> (OutputBox=o) {
          variance=[0.1, 0.1, 0.2, 0.2]})",
     "error: there are PriorBoxVar and variance; want one of them"},
    {R"(var x f32[7,4]
        var y f32[9,4]
        iou_similarity(X=x, Y=y) -> (Out=o))",
     "Out=FP32[7, 9]"},
    {R"(var x f32[7,5]
        iou_similarity(X=x, Y=y) -> (Out=o))",
     "error: X is [7, 5]; want rows of 4"},
    {R"(var x f32[7,4]
        var s f32[2,3]
        box_clip(Input=x, ImInfo=s) -> (Output=o))",
     "Output=FP32[7, 4]"},
    {R"(var x f32[1,254,13,13]
        yolo_box(X=x, ImgSize=s) -> (Boxes=b, Scores=p) {anchors=[1, 2, 3, 4, 5, 6], class_num=80})",
     "error: X is [1, 254, 13, 13]; want 5 + 80 channels for each of 3 anchors"},
    {R"(var x f32[1,258,13,13]
        yolo_box(X=x, ImgSize=s) -> (Boxes=b, Scores=p) {anchors=[1, 2, 3, 4, 5, 6], class_num=80,
          iou_aware=true})",
     "Boxes=FP32[1, 507, 4] Scores=FP32[1, 507, 80]"},
    {R"(var x f32[1,85,13,13]
        yolo_box(X=x, ImgSize=s) -> (Boxes=b, Scores=p) {anchors=[1, 0], class_num=80})",
     "error: anchors has 0; want positive numbers"},
};
INSTANTIATE_TEST_SUITE_P(Coded, Infer, testing::ValuesIn(kCoded));

constexpr InferCase kKept[] = {
    {R"(var b f32[2,9,4]
        var s f32[2,3,9]
        multiclass_nms3(BBoxes=b, Scores=s) -> (Out=o, Index=i, NmsRoisNum=n) {
          score_threshold=0.1, nms_top_k=5, keep_top_k=5})",
     "Out=FP32[-1, 6] Index=INT32[-1, 1] NmsRoisNum=INT32[2]"},
    {R"(var b f32[9,3,4]
        var s f32[9,3]
        multiclass_nms(BBoxes=b, Scores=s) -> (Out=o) {
          score_threshold=0.1, nms_top_k=5, keep_top_k=5})",
     "Out=FP32[-1, 6]"},
    {R"(var b f32[2,9,4]
        var s f32[2,9,3]
        multiclass_nms(BBoxes=b, Scores=s) -> (Out=o) {
          score_threshold=0.1, nms_top_k=5, keep_top_k=5})",
     "error: BBoxes is [2, 9, 4] and Scores [2, 9, 3]; want [N, M, 4] and [N, classes, M], or "
     "[M, classes, 4] and [M, classes]"},
    {R"(var b f32[2,9,4]
        var s f32[2,3,9]
        matrix_nms(BBoxes=b, Scores=s) -> (Out=o, Index=i, RoisNum=n) {
          score_threshold=0.1, nms_top_k=5, keep_top_k=5})",
     "Out=FP32[-1, 6] Index=INT32[-1, 1] RoisNum=INT32[2]"},
    {R"(var c bool[2,3]
        where_index(Condition=c) -> (Out=o))",
     "Out=INT64[-1, 2]"},
    {R"(var d f32[9,5]
        bipartite_match(DistMat=d) -> (ColToRowMatchIndices=i, ColToRowMatchDist=e))",
     "ColToRowMatchIndices=INT32[-1, 5] ColToRowMatchDist=FP32[-1, 5]"},
    {R"(var d f32[9,5]
        bipartite_match(DistMat=d) -> (ColToRowMatchIndices=i, ColToRowMatchDist=e) {
          match_type="all"})",
     "error: match_type is \"all\"; want bipartite or per_prediction"},
    {R"(var x f32[9,1,4]
        var m i32[2,5]
        target_assign(X=x, MatchIndices=m) -> (Out=o, OutWeight=w))",
     "Out=FP32[2, 5, 4] OutWeight=FP32[2, 5, 1]"},
    {R"(var l f32[2,5]
        var m i32[2,5]
        mine_hard_examples(ClsLoss=l, MatchIndices=m, MatchDist=l) -> (
            NegIndices=n, UpdatedMatchIndices=u))",
     "NegIndices=INT32[-1, 1] UpdatedMatchIndices=INT32[2, 5]"},
    {R"(var l f32[2,5]
        mine_hard_examples(ClsLoss=l, MatchIndices=m, MatchDist=l) -> (
            NegIndices=n, UpdatedMatchIndices=u) {mining_type="hard_example"})",
     "error: sample_size is 0; want 1 or more"},
};
INSTANTIATE_TEST_SUITE_P(Kept, Infer, testing::ValuesIn(kKept));

constexpr InferCase kRegions[] = {
    {R"(var x f32[2,8,20,20]
        var r f32[7,4]
        roi_align(X=x, ROIs=r) -> (Out=o) {pooled_height=3, pooled_width=5})",
     "Out=FP32[7, 8, 3, 5]"},
    {R"(var x f32[2,8,20,20]
        var r f32[7,4]
        roi_pool(X=x, ROIs=r) -> (Out=o, Argmax=a) {pooled_height=3, pooled_width=0})",
     "error: pooled_width is 0; want 1 or more"},
    {R"(var x f32[2,8,20,20]
        var r f32[7,4]
        roi_pool(X=x, ROIs=r) -> (Out=o, Argmax=a) {pooled_height=3, pooled_width=2})",
     "Out=FP32[7, 8, 3, 2] Argmax=INT64[7, 8, 3, 2]"},
    {R"(var s f32[2,3,4,5]
        generate_proposals_v2(Scores=s, BboxDeltas=d, ImShape=i, Anchors=a, Variances=v) -> (
            RpnRois=r, RpnRoiProbs=p, RpnRoisNum=n) {pre_nms_topN=5, post_nms_topN=5,
          nms_thresh=0.5, min_size=0.1, eta=1.0})",
     "RpnRois=FP32[-1, 4] RpnRoiProbs=FP32[-1, 1] RpnRoisNum=INT32[2]"},
    {R"(var r f32[9,4]
        distribute_fpn_proposals(FpnRois=r) -> (MultiFpnRois=[a, b], RestoreIndex=i) {min_level=2,
          max_level=3, refer_level=2, refer_scale=56})",
     "MultiFpnRois=FP32[-1, 4] MultiFpnRois=FP32[-1, 4] RestoreIndex=INT32[9, 1]"},
    {R"(var r f32[9,4]
        distribute_fpn_proposals(FpnRois=r) -> (MultiFpnRois=[a, b], RestoreIndex=i) {min_level=2,
          max_level=5, refer_level=2, refer_scale=56})",
     "error: min_level is 2 and max_level 5, of 2 outputs MultiFpnRois; want one for each level"},
    {R"(var r f32[9,4]
        collect_fpn_proposals(MultiLevelRois=[r, r], MultiLevelScores=[s, s]) -> (FpnRois=o) {
          post_nms_topN=5})",
     "FpnRois=FP32[-1, 4]"},
    {R"(var x f32[2,3,8,8]
        var g f32[2,4,5,2]
        grid_sampler(X=x, Grid=g) -> (Output=y) {padding_mode="wrap"})",
     "error: padding_mode is \"wrap\"; want one that the op knows"},
    {R"(var x f32[2,4,8,8]
        var o f32[2,36,6,6]
        var m f32[2,18,6,6]
        var f f32[6,2,3,3]
        deformable_conv(Input=x, Offset=o, Filter=f, Mask=m) -> (Output=y) {groups=2,
          deformable_groups=2})",
     "Output=FP32[2, 6, 6, 6]"},
    {R"(var x f32[2,4,8,8]
        var o f32[2,18,6,6]
        var f f32[6,2,3,3]
        deformable_conv_v1(Input=x, Offset=o, Filter=f) -> (Output=y) {groups=2,
          deformable_groups=2})",
     "error: Offset is [2, 18, 6, 6]; want [2, 36, 6, 6]"},
    {R"(var x f32[2,4,8,8]
        var f f32[6,3,3,3]
        deformable_conv_v1(Input=x, Offset=o, Filter=f) -> (Output=y) {groups=2})",
     "error: Filter is [6, 3, 3, 3] and Input [2, 4, 8, 8] in 2 groups; want as many channels as a "
     "group has"},
};
INSTANTIATE_TEST_SUITE_P(Regions, Infer, testing::ValuesIn(kRegions));

}  // namespace
}  // namespace fixpoint
