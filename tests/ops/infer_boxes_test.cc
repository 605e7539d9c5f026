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

constexpr InferCase kTrained[] = {
    {R"(var x f32[-1,16,8,8]
        var b f32[-1,5,4]
        yolov3_loss(X=x, GTBox=b, GTLabel=l) -> (Loss=o, ObjectnessMask=m, GTMatchMask=g) {
          anchors=[10, 13, 16, 30, 33, 23], anchor_mask=[1, 2], class_num=3})",
     "Loss=FP32[-1] ObjectnessMask=FP32[-1, 2, 8, 8] GTMatchMask=INT32[-1, 5]"},
    {R"(var x f32[2,15,8,8]
        yolov3_loss(X=x, GTBox=b, GTLabel=l) -> (Loss=o, ObjectnessMask=m, GTMatchMask=g) {
          anchors=[10, 13, 16, 30, 33, 23], anchor_mask=[1, 2], class_num=3})",
     "error: X is [2, 15, 8, 8]; want 5 + 3 channels for each of 2 anchors, and squares"},
    {R"(var b f32[2,5]
        yolov3_loss(X=x, GTBox=b, GTLabel=l) -> (Loss=o, ObjectnessMask=m, GTMatchMask=g))",
     "error: GTBox is [2, 5]; want 3 dimensions"},
    {R"(var x f32[-1,8]
        var l i32[-1,1]
        sigmoid_focal_loss(X=x, Label=l, FgNum=n) -> (Out=o))",
     "Out=FP32[-1, 8]"},
    {R"(var x f32[4,8]
        var l i32[4]
        sigmoid_focal_loss(X=x, Label=l, FgNum=n) -> (Out=o))",
     "error: X is [4, 8] and Label [4]; want [rows, classes] and [rows, 1]"},
    {R"(var x f32[2,8,20,20]
        var r f32[-1,4]
        prroi_pool(X=x, ROIs=r, BatchRoINums=n) -> (Out=o) {pooled_height=3, pooled_width=5})",
     "Out=FP32[-1, 8, 3, 5]"},
    {R"(var b f32[2,9,4]
        var s f32[2,3,9]
        locality_aware_nms(BBoxes=b, Scores=s) -> (Out=o) {score_threshold=0.1, nms_top_k=5,
          keep_top_k=5})",
     "Out=FP32[-1, 6]"},
    {R"(var b f32[9,3,4]
        var s f32[9,3]
        locality_aware_nms(BBoxes=b, Scores=s) -> (Out=o) {score_threshold=0.1, nms_top_k=5,
          keep_top_k=5})",
     "error: BBoxes is [9, 3, 4] and Scores [9, 3]; want [N, M, 4] and [N, classes, M]"},
    {R"(var a f32[30,4]
        var b f32[-1,4]
        rpn_target_assign(Anchor=a, GtBoxes=b, IsCrowd=c, ImInfo=i) -> (LocationIndex=l,
          ScoreIndex=s, TargetBBox=t, TargetLabel=k, BBoxInsideWeight=w) {
          rpn_straddle_thresh=0.0})",
     "LocationIndex=INT32[-1] ScoreIndex=INT32[-1] TargetBBox=FP32[-1, 4] TargetLabel=INT32[-1, 1] "
     "BBoxInsideWeight=FP32[-1, 4]"},
    {R"(var a f32[30,5]
        rpn_target_assign(Anchor=a, GtBoxes=b, IsCrowd=c, ImInfo=i) -> (LocationIndex=l,
          ScoreIndex=s, TargetBBox=t, TargetLabel=k, BBoxInsideWeight=w) {
          rpn_straddle_thresh=0.0})",
     "error: Anchor is [30, 5]; want rows of 4"},
    {R"(var a f32[30,4]
        retinanet_target_assign(Anchor=a, GtBoxes=b, GtLabels=g, IsCrowd=c, ImInfo=i) -> (
          LocationIndex=l, ScoreIndex=s, TargetBBox=t, TargetLabel=k, BBoxInsideWeight=w,
          ForegroundNumber=f))",
     "LocationIndex=INT32[-1] ScoreIndex=INT32[-1] TargetBBox=FP32[-1, 4] TargetLabel=INT32[-1, 1] "
     "BBoxInsideWeight=FP32[-1, 4] ForegroundNumber=INT32[-1, 1]"},
    {R"(var r f32[-1,4]
        generate_proposal_labels(RpnRois=r, GtClasses=g, IsCrowd=c, GtBoxes=b, ImInfo=i) -> (
          Rois=o, LabelsInt32=l, BboxTargets=t, BboxInsideWeights=w, BboxOutsideWeights=v,
          MaxOverlapWithGT=m) {batch_size_per_im=9, fg_fraction=0.5, fg_thresh=0.5,
          bg_thresh_hi=0.5, bg_thresh_lo=0.0, bbox_reg_weights=[1.0, 1.0, 1.0, 1.0],
          class_nums=81})",
     "Rois=FP32[-1, 4] LabelsInt32=INT32[-1, 1] BboxTargets=FP32[-1, 324] "
     "BboxInsideWeights=FP32[-1, 324] BboxOutsideWeights=FP32[-1, 324] MaxOverlapWithGT=FP32[-1]"},
    {R"(var i f32[3]
        generate_proposal_labels(RpnRois=r, GtClasses=g, IsCrowd=c, GtBoxes=b, ImInfo=i) -> (
          Rois=o, LabelsInt32=l, BboxTargets=t, BboxInsideWeights=w, BboxOutsideWeights=v) {
          batch_size_per_im=9, fg_fraction=0.5, fg_thresh=0.5, bg_thresh_hi=0.5, bg_thresh_lo=0.0,
          bbox_reg_weights=[1.0, 1.0, 1.0, 1.0], class_nums=81})",
     "error: ImInfo is [3]; want 2 dimensions"},
    {R"(var b f32[2,9,4]
        var s f32[2,9,3]
        retinanet_detection_output(BBoxes=[b, b], Scores=[s, s], Anchors=[a, a], ImInfo=i) -> (
          Out=o) {score_threshold=0.1, nms_top_k=5, nms_threshold=0.5, nms_eta=1.0,
          keep_top_k=5})",
     "Out=FP32[-1, 6]"},
    {R"(var b f32[2,9,4]
        var s f32[2,8,3]
        retinanet_detection_output(BBoxes=b, Scores=s, Anchors=a, ImInfo=i) -> (Out=o) {
          score_threshold=0.1, nms_top_k=5, nms_threshold=0.5, nms_eta=1.0, keep_top_k=5})",
     "error: BBoxes[0] is [2, 9, 4] and Scores[0] [2, 8, 3]; want [N, M, 4] and [N, M, classes]"},
    {R"(retinanet_detection_output(BBoxes=[b, b], Scores=s, Anchors=a, ImInfo=i) -> (Out=o) {
          score_threshold=0.1, nms_top_k=5, nms_threshold=0.5, nms_eta=1.0, keep_top_k=5})",
     "error: there are 2 inputs BBoxes, 1 Scores and 1 Anchors; want one of each for each level"},
};
INSTANTIATE_TEST_SUITE_P(Trained, Infer, testing::ValuesIn(kTrained));

}  // namespace
}  // namespace fixpoint
