// Object detection.

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// Boxes and Variances are [H, W, priors, 4], with Input's H and W.
absl::Status InferPriorBox(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  constexpr double kNear = 1e-6;  // ratios this close count as equal
  std::multiset<double> ratios = {1};
  const bool flip = op.Bool("flip");
  for (const double ratio : op.Floats("aspect_ratios")) {
    if (!(ratio > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("aspect_ratios has ", ratio, "; want positive numbers"));
    }
    const auto nearest = ratios.upper_bound(ratio - kNear);
    if (nearest != ratios.end() && *nearest - ratio < kNear) continue;
    ratios.insert(ratio);
    if (flip) ratios.insert(1 / ratio);
  }
  if (input.rank() != 4) return absl::OkStatus();
  const int64_t priors = static_cast<int64_t>(ratios.size() * op.Floats("min_sizes").size() +
                                              op.Floats("max_sizes").size());
  for (const char* slot : {"Boxes", "Variances"}) {
    op.SetOutput(slot, input.dtype, Dims{input.dims[2], input.dims[3], priors, 4});
  }
  return absl::OkStatus();
}

absl::Status InferYoloBox(InferContext& op) {
  const TensorInfo x = op.Input("X");
  ASSIGN_OR_RETURN(const int64_t classes, PositiveAttr(op, "class_num"));
  const int64_t anchors = static_cast<int64_t>(op.Ints("anchors").size()) / 2;
  if (x.rank() != 4) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t boxes, ElementCount({x.dims[2], x.dims[3], anchors}));
  op.SetOutput("Boxes", x.dtype, Dims{x.dims[0], boxes, 4});
  op.SetOutput("Scores", x.dtype, Dims{x.dims[0], boxes, classes});
  return absl::OkStatus();
}

absl::Status InferPairs(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (x.has_dims() && y.has_dims()) op.SetOutput("Out", x.dtype, Dims{x.dims[0], y.dims[0]});
  return absl::OkStatus();
}

absl::Status InferRoiAlign(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo rois = op.Input("ROIs");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (x.rank() != 4 || !rois.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t height, PositiveAttr(op, "pooled_height"));
  ASSIGN_OR_RETURN(const int64_t width, PositiveAttr(op, "pooled_width"));
  op.SetOutput("Out", x.dtype, Dims{rois.dims[0], x.dims[1], height, width});
  return absl::OkStatus();
}

absl::Status InferGridSampler(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo grid = op.Input("Grid");
  op.SetOutput("Output", x.dtype, std::nullopt);
  if (x.rank() != 4 || grid.rank() != 4) return absl::OkStatus();
  if (!MayBeEqual(x.dims[0], grid.dims[0]) || !MayBeEqual(grid.dims[3], 2)) {
    return absl::InvalidArgumentError(absl::StrCat("Grid is ", DimsText(grid.dims), " and X is ",
                                                   DimsText(x.dims),
                                                   "; want [X's batch, height, width, 2]"));
  }
  op.SetOutput("Output", x.dtype, Dims{x.dims[0], x.dims[1], grid.dims[1], grid.dims[2]});
  return absl::OkStatus();
}

void DefineBoxes(OpList& ops) {
  ops.Define("prior_box(Input, Image) -> (Boxes, Variances)")
      .Doc("Boxes of several sizes and shapes around each place of Input.")
      .Attr("min_sizes", Required(FLOATS))
      .Attr("max_sizes", Floats({}))
      .Attr("aspect_ratios", Required(FLOATS), Eras::kFluid)
      .Attr("aspect_ratios", Floats({}), Eras::kPaddle2)
      .Attr("variances", Required(FLOATS), Eras::kFluid)
      .Attr("variances", Floats({}), Eras::kPaddle2)
      .Attr("flip", Bool(true))
      .Attr("clip", Bool(true))
      .Attr("step_w", Float(0))
      .Attr("step_h", Float(0))
      .Attr("offset", Float(0.5f))
      .Attr("min_max_aspect_ratios_order", Bool(false))
      .Hints("use_mkldnn, use_quantizer, mkldnn_data_type@2")
      .Infer(InferPriorBox);
  ops.Define("box_coder(PriorBox, PriorBoxVar?, TargetBox) -> (OutputBox)")
      .Doc("Boxes relative to prior boxes, or back.")
      .Attr("code_type", String("encode_center_size"))
      .Attr("box_normalized", Bool(true))
      .Attr("axis", Int(0))
      .Attr("variance", Floats({}))
      .QuantizableOutputs({"OutputBox"});
  ops.Define("iou_similarity(X, Y) -> (Out)")
      .Doc("Intersection over union of each box of X with each of Y.")
      .Attr("box_normalized", Bool(true))
      .Infer(InferPairs);
  ops.Define("yolo_box(X, ImgSize) -> (Boxes, Scores)")
      .Doc("Boxes and scores from YOLO's output.")
      .Attr("class_num", Required(INT), Eras::kFluid)
      .Attr("class_num", Int(1), Eras::kPaddle2)
      .Attr("anchors", Ints({}))
      .Attr("downsample_ratio", Int(32))
      .Attr("conf_thresh", Float(0.01f))
      .Attr("clip_bbox", Bool(true))
      .Attr("scale_x_y", Float(1))
      .Attr("iou_aware", Bool(false), Eras::kPaddle2)
      .Attr("iou_aware_factor", Float(0.5f), Eras::kPaddle2)
      .Infer(InferYoloBox);
  ops.Define("roi_align(X, ROIs, RoisLod?@1, RoisNum?@2) -> (Out)")
      .Doc("Averages of X over a grid in each region.")
      .Attr("spatial_scale", Float(1))
      .Attr("pooled_height", Int(1))
      .Attr("pooled_width", Int(1))
      .Attr("sampling_ratio", Int(-1))
      .Attr("aligned", Bool(false), Eras::kPaddle2)
      .Infer(InferRoiAlign)
      .QuantizableOutputs({"Out"})
      .GradientNotKnown();
  ops.Define("grid_sampler(X, Grid) -> (Output)")
      .Doc("X [N,C,H,W] at the places that Grid [N,H',W',2] names, from -1 to 1: [N,C,H',W'].")
      .Attr("mode", String("bilinear"), Eras::kPaddle2)
      .Attr("padding_mode", String("zeros"), Eras::kPaddle2)
      .Attr("align_corners", Bool(true), Eras::kPaddle2)
      .Attr("use_cudnn", Bool(true))
      .Infer(InferGridSampler)
      .QuantizableOutputs({"Output"})
      .Gradient("grid_sampler_grad(X, Grid, Output@GRAD) -> (X@GRAD, Grid@GRAD)");
}

void DefineMatching(OpList& ops) {
  ops.Define("bipartite_match(DistMat) -> (ColToRowMatchIndices, ColToRowMatchDist)")
      .Doc("Matches prior boxes with true ones, greedily.")
      .Attr("match_type", String("bipartite"))
      .Attr("dist_threshold", Float(0.5f));
  ops.Define("target_assign(X, MatchIndices, NegIndices?) -> (Out, OutWeight)")
      .Doc("Each prior box's target, and its weight.")
      .Attr("mismatch_value", Int(0));
  ops.Define(
         "mine_hard_examples(ClsLoss, LocLoss?, MatchIndices, MatchDist) -> "
         "(NegIndices, UpdatedMatchIndices)")
      .Doc("The unmatched boxes of the largest loss.")
      .Attr("neg_pos_ratio", Float(1))
      .Attr("neg_dist_threshold", Float(0.5f))
      .Attr("sample_size", Int(0))
      .Attr("mining_type", String("max_negative"));
  for (const bool v1 : {true, false}) {
    ops.Define(v1 ? "multiclass_nms(BBoxes, Scores) -> (Out)"
                  : "multiclass_nms3(BBoxes, Scores, RoisNum?) -> (Out, Index, NmsRoisNum?)")
        .Doc("The best boxes of each class, without those that overlap a better one.")
        .Attr("background_label", Int(0))
        .Attr("score_threshold", Required(FLOAT))
        .Attr("nms_top_k", Required(INT))
        .Attr("nms_threshold", Float(0.3f))
        .Attr("nms_eta", Float(1))
        .Attr("keep_top_k", Required(INT))
        .Attr("normalized", Bool(true));
  }
}

}  // namespace

std::vector<OpSchema> DetectionOps() {
  OpList ops;
  DefineBoxes(ops);
  DefineMatching(ops);
  return ops.Build();
}

}  // namespace fixpoint
