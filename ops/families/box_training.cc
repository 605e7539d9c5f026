// Which prior boxes of a detector go with true ones in training, what they have to learn of them,
// and whose losses count.

#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/families/box_shapes.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// [images, columns]: the offsets of DistMat decide how many images there are.
absl::Status InferBipartiteMatch(InferContext& op) {
  const TensorInfo distances = op.Input("DistMat");
  RETURN_IF_ERROR(CheckRank("DistMat", distances, 2));
  const std::string type = op.String("match_type");
  if (type != "bipartite" && type != "per_prediction") {
    return absl::InvalidArgumentError(
        absl::StrCat("match_type is \"", type, "\"; want bipartite or per_prediction"));
  }
  op.SetOutput("ColToRowMatchIndices", VarType::INT32, std::nullopt);
  op.SetOutput("ColToRowMatchDist", distances.dtype, std::nullopt);
  if (!distances.has_dims()) return absl::OkStatus();
  const Dims dims = {kUnknownDim, distances.dims[1]};
  op.SetOutput("ColToRowMatchIndices", VarType::INT32, dims);
  op.SetOutput("ColToRowMatchDist", distances.dtype, dims);
  return absl::OkStatus();
}

absl::Status InferTargetAssign(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo matches = op.Input("MatchIndices");
  RETURN_IF_ERROR(CheckRank("X", x, 3));
  RETURN_IF_ERROR(CheckRank("MatchIndices", matches, 2));
  op.SetOutput("Out", x.dtype, std::nullopt);
  op.SetOutput("OutWeight", VarType::FP32, std::nullopt);
  if (!x.has_dims() || !matches.has_dims()) return absl::OkStatus();
  op.SetOutput("Out", x.dtype, Dims{matches.dims[0], matches.dims[1], x.dims[2]});
  op.SetOutput("OutWeight", VarType::FP32, Dims{matches.dims[0], matches.dims[1], 1});
  return absl::OkStatus();
}

absl::Status InferMineHardExamples(InferContext& op) {
  const TensorInfo matches = op.Input("MatchIndices");
  // The reference declares losses with other extents than they have (ssd_loss of 1.x).
  for (const auto& [slot, other] :
       {std::pair("LocLoss", "ClsLoss"), {"MatchDist", "MatchIndices"}}) {
    const TensorInfo tensor = op.Input(slot);
    const TensorInfo wanted = op.Input(other);
    if (!tensor.has_dims() || !wanted.has_dims()) continue;
    if (tensor.rank() == 2 && MayBeEqual(tensor.dims, wanted.dims)) continue;
    return absl::InvalidArgumentError(absl::StrCat(slot, " is ", DimsText(tensor.dims), " and ",
                                                   other, " ", DimsText(wanted.dims),
                                                   "; want [images, boxes] of both"));
  }
  const std::string type = op.String("mining_type");
  const bool is_hard = type == "hard_example";
  if (!is_hard && type != "max_negative") {
    return absl::InvalidArgumentError(
        absl::StrCat("mining_type is \"", type, "\"; want max_negative or hard_example"));
  }
  if (is_hard) RETURN_IF_ERROR(PositiveAttr(op, "sample_size").status());
  for (const char* name : {"neg_pos_ratio", "neg_dist_threshold"}) {
    const double value = op.Float(name);
    if (is_hard || value > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, "; want above 0"));
  }
  op.SetOutput("NegIndices", VarType::INT32, Dims{kUnknownDim, 1});
  op.SetOutput("UpdatedMatchIndices", VarType::INT32, std::nullopt);
  if (matches.has_dims()) {
    op.SetOutput("UpdatedMatchIndices", VarType::INT32,
                 Dims(matches.dims.begin(), matches.dims.end()));
  }
  return absl::OkStatus();
}

// X [images, anchors of the layer * (5 + classes), size, size], GTBox [images, boxes, 4].
absl::Status InferYoloLoss(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo boxes = op.Input("GTBox");
  RETURN_IF_ERROR(CheckRank("X", x, 4));
  RETURN_IF_ERROR(CheckRank("GTBox", boxes, 3));
  for (const char* slot : {"GTLabel", "GTScore"}) {
    RETURN_IF_ERROR(CheckRank(slot, op.Input(slot), 2));
  }
  op.SetOutput("Loss", x.dtype, std::nullopt);
  op.SetOutput("ObjectnessMask", x.dtype, std::nullopt);
  op.SetOutput("GTMatchMask", VarType::INT32, std::nullopt);
  const auto anchors = static_cast<int64_t>(op.Ints("anchor_mask").size());
  ASSIGN_OR_RETURN(const int64_t classes, PositiveAttr(op, "class_num"));
  if (x.has_dims()) {
    ASSIGN_OR_RETURN(const int64_t channels, ElementCount({anchors, classes + 5}));
    if (!MayBeEqual(x.dims[1], channels) || !MayBeEqual(x.dims[2], x.dims[3])) {
      return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), "; want 5 + ",
                                                     classes, " channels for each of ", anchors,
                                                     " anchors, and squares"));
    }
    op.SetOutput("Loss", x.dtype, Dims{x.dims[0]});
    op.SetOutput("ObjectnessMask", x.dtype, Dims{x.dims[0], anchors, x.dims[2], x.dims[3]});
  }
  if (boxes.has_dims()) {
    op.SetOutput("GTMatchMask", VarType::INT32, Dims{boxes.dims[0], boxes.dims[1]});
  }
  return absl::OkStatus();
}

absl::Status CheckTruth(InferContext& op) {
  RETURN_IF_ERROR(CheckRowsOfBoxes("GtBoxes", op.Input("GtBoxes")));
  return CheckRank("ImInfo", op.Input("ImInfo"), 2);
}

// Which anchors are looked at, for where they are and for what they show, and their targets.
absl::Status InferAnchorTargets(InferContext& op) {
  const TensorInfo anchors = op.Input("Anchor");
  RETURN_IF_ERROR(CheckRowsOfBoxes("Anchor", anchors));
  RETURN_IF_ERROR(CheckTruth(op));
  op.SetOutput("LocationIndex", VarType::INT32, Dims{kUnknownDim});
  op.SetOutput("ScoreIndex", VarType::INT32, Dims{kUnknownDim});
  op.SetOutput("TargetBBox", anchors.dtype, Dims{kUnknownDim, 4});
  op.SetOutput("TargetLabel", VarType::INT32, Dims{kUnknownDim, 1});
  op.SetOutput("BBoxInsideWeight", anchors.dtype, Dims{kUnknownDim, 4});
  if (op.schema().FindOutput("ForegroundNumber", op.era()) != nullptr) {
    op.SetOutput("ForegroundNumber", VarType::INT32, Dims{kUnknownDim, 1});
  }
  return absl::OkStatus();
}

absl::Status InferProposalLabels(InferContext& op) {
  const TensorInfo rois = op.Input("RpnRois");
  RETURN_IF_ERROR(CheckRowsOfBoxes("RpnRois", rois));
  RETURN_IF_ERROR(CheckTruth(op));
  ASSIGN_OR_RETURN(const int64_t classes, PositiveAttr(op, "class_nums"));
  ASSIGN_OR_RETURN(const int64_t width, ElementCount({4, classes}));
  op.SetOutput("Rois", rois.dtype, Dims{kUnknownDim, 4});
  op.SetOutput("LabelsInt32", VarType::INT32, Dims{kUnknownDim, 1});
  for (const char* slot : {"BboxTargets", "BboxInsideWeights", "BboxOutsideWeights"}) {
    op.SetOutput(slot, rois.dtype, Dims{kUnknownDim, width});
  }
  op.SetOutput("MaxOverlapWithGT", rois.dtype, Dims{kUnknownDim});
  return absl::OkStatus();
}

void DefineTargets(OpList& ops) {
  ops.Define(
         "rpn_target_assign(Anchor, GtBoxes, IsCrowd, ImInfo) -> (LocationIndex, ScoreIndex, "
         "TargetBBox, TargetLabel, BBoxInsideWeight)")
      .Doc("Anchors in which there is an object and anchors in which there is none, of each image.")
      .Attr("rpn_batch_size_per_im", Int(256))
      .Attr("rpn_straddle_thresh", Required(FLOAT))
      .Attr("rpn_positive_overlap", Float(0.7f))
      .Attr("rpn_negative_overlap", Float(0.3f))
      .Attr("rpn_fg_fraction", Float(0.25f))
      .Attr("use_random", Bool(true))
      .DrawsNumbers()
      .TakeLod({})
      .Infer(InferAnchorTargets);
  ops.Define(
         "retinanet_target_assign(Anchor, GtBoxes, GtLabels, IsCrowd, ImInfo) -> (LocationIndex, "
         "ScoreIndex, TargetBBox, TargetLabel, BBoxInsideWeight, ForegroundNumber)")
      .Doc("The class of the object in each anchor, or 0 for none, and where it is.")
      .Attr("positive_overlap", Float(0.5f))
      .Attr("negative_overlap", Float(0.4f))
      .TakeLod({})
      .Infer(InferAnchorTargets);
  ops.Define(
         "generate_proposal_labels(RpnRois, GtClasses, IsCrowd, GtBoxes, ImInfo, MaxOverlap?@2) -> "
         "(Rois, LabelsInt32, BboxTargets, BboxInsideWeights, BboxOutsideWeights, "
         "MaxOverlapWithGT?@2)")
      .Doc("Proposals and true boxes to train on, of each image, with their classes and targets.")
      .Attr("batch_size_per_im", Required(INT))
      .Attr("fg_fraction", Required(FLOAT))
      .Attr("fg_thresh", Required(FLOAT))
      .Attr("bg_thresh_hi", Required(FLOAT))
      .Attr("bg_thresh_lo", Required(FLOAT))
      .Attr("bbox_reg_weights", Required(FLOATS))
      .Attr("class_nums", Required(INT))
      .Attr("use_random", Bool(true))
      .Attr("is_cascade_rcnn", Bool(false))
      .Attr("is_cls_agnostic", Bool(false))
      .DrawsNumbers()
      .TakeLod({})
      .Infer(InferProposalLabels);
}

}  // namespace

std::vector<OpSchema> BoxTrainingOps() {
  OpList ops;
  ops.Define("bipartite_match(DistMat) -> (ColToRowMatchIndices, ColToRowMatchDist)")
      .Doc("Matches prior boxes with true ones, greedily.")
      .Attr("match_type", String("bipartite"))
      .Attr("dist_threshold", Float(0.5f))
      .TakeLod({})
      .Infer(InferBipartiteMatch);
  ops.Define("target_assign(X, MatchIndices, NegIndices?) -> (Out, OutWeight)")
      .Doc("Each prior box's target, and its weight.")
      .Attr("mismatch_value", Int(0))
      .TakeLod({})
      .Infer(InferTargetAssign);
  ops.Define(
         "mine_hard_examples(ClsLoss, LocLoss?, MatchIndices, MatchDist) -> "
         "(NegIndices, UpdatedMatchIndices)")
      .Doc("The unmatched boxes of the largest loss.")
      .Attr("neg_pos_ratio", Float(1))
      .Attr("neg_dist_threshold", Float(0.5f))
      .Attr("sample_size", Int(0))
      .Attr("mining_type", String("max_negative"))
      .TakeLod({})
      .Infer(InferMineHardExamples);
  ops.Define("yolov3_loss(X, GTBox, GTLabel, GTScore?) -> (Loss, ObjectnessMask, GTMatchMask)")
      .Doc("The loss of each image: of where true boxes are, of their classes, and of objectness.")
      .Attr("anchors", Ints({}))
      .Attr("anchor_mask", Ints({}))
      .Attr("class_num", Required(INT), Eras::kFluid)
      .Attr("class_num", Int(1), Eras::kPaddle2)
      .Attr("ignore_thresh", Float(0.7f))
      .Attr("downsample_ratio", Int(32))
      .Attr("use_label_smooth", Bool(true))
      .Attr("scale_x_y", Float(1))
      .TakeLod({})
      .Infer(InferYoloLoss)
      .Gradient(
          "yolov3_loss_grad(X, GTBox, GTLabel, GTScore, Loss@GRAD, ObjectnessMask, GTMatchMask) "
          "-> (X@GRAD)");
  DefineTargets(ops);
  return ops.Build();
}

}  // namespace fixpoint
