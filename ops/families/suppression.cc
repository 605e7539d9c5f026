// The best boxes of each class. How many there are depends on the scores.

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// BBoxes [N, M, 4] with Scores [N, C, M], or of regions, [M, C, 4] with [M, C].
absl::Status CheckBoxes(InferContext& op, bool may_be_of_regions) {
  const TensorInfo boxes = op.Input("BBoxes");
  const TensorInfo scores = op.Input("Scores");
  if (!boxes.has_dims() || !scores.has_dims()) return absl::OkStatus();
  const bool is_dense = boxes.rank() == 3 && scores.rank() == 3 &&
                        MayBeEqual(boxes.dims[0], scores.dims[0]) &&
                        MayBeEqual(boxes.dims[1], scores.dims[2]);
  const bool is_of_regions = may_be_of_regions && boxes.rank() == 3 && scores.rank() == 2 &&
                             MayBeEqual(boxes.dims[0], scores.dims[0]) &&
                             MayBeEqual(boxes.dims[1], scores.dims[1]);
  if (is_dense || is_of_regions) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("BBoxes is ", DimsText(boxes.dims), " and Scores ", DimsText(scores.dims),
                   "; want [N, M, 4] and [N, classes, M]",
                   may_be_of_regions ? ", or [M, classes, 4] and [M, classes]" : ""));
}

absl::Status InferSuppression(InferContext& op, bool may_be_of_regions) {
  RETURN_IF_ERROR(CheckBoxes(op, may_be_of_regions));
  const TensorInfo boxes = op.Input("BBoxes");
  op.SetOutput("Out", boxes.dtype, std::nullopt);
  if (boxes.rank() == 3 && boxes.dims[2] >= 0) {
    op.SetOutput("Out", boxes.dtype, Dims{kUnknownDim, boxes.dims[2] + 2});
  }
  for (const char* slot : {"Index", "NmsRoisNum", "RoisNum"}) {
    const bool is_of_images = absl::string_view(slot) != "Index";
    if (op.schema().FindOutput(slot, op.era()) == nullptr) continue;
    const TensorInfo scores = op.Input("Scores");
    const int64_t images = scores.rank() == 3 ? scores.dims[0] : kUnknownDim;
    op.SetOutput(slot, VarType::INT32, is_of_images ? Dims{images} : Dims{kUnknownDim, 1});
  }
  return absl::OkStatus();
}

// Lists with an argument for each level: BBoxes [N, M, 4], Scores [N, M, classes], Anchors [M, 4].
absl::Status InferDetectionOutput(InferContext& op) {
  const int levels = op.InputCount("BBoxes");
  if (levels < 1 || op.InputCount("Scores") != levels || op.InputCount("Anchors") != levels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", levels, " inputs BBoxes, ", op.InputCount("Scores"), " Scores and ",
        op.InputCount("Anchors"), " Anchors; want one of each for each level"));
  }
  for (int i = 0; i < levels; ++i) {
    const TensorInfo boxes = op.Input("BBoxes", i);
    const TensorInfo scores = op.Input("Scores", i);
    if (!boxes.has_dims() || !scores.has_dims()) continue;
    if (boxes.rank() == 3 && scores.rank() == 3 && MayBeEqual(boxes.dims[0], scores.dims[0]) &&
        MayBeEqual(boxes.dims[1], scores.dims[1]) && MayBeEqual(boxes.dims[2], 4)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat("BBoxes[", i, "] is ", DimsText(boxes.dims),
                                                   " and Scores[", i, "] ", DimsText(scores.dims),
                                                   "; want [N, M, 4] and [N, M, classes]"));
  }
  op.SetOutput("Out", op.Input("BBoxes").dtype, Dims{kUnknownDim, 6});
  return absl::OkStatus();
}

OpSchemaBuilder& DefineNms(OpList& ops, absl::string_view signature, int background = 0) {
  return ops.Define(signature)
      .Doc("The best boxes of each class, without those that overlap a better one.")
      .Attr("background_label", Int(background))
      .Attr("score_threshold", Required(FLOAT))
      .Attr("nms_top_k", Required(INT))
      .Attr("nms_threshold", Float(0.3f))
      .Attr("nms_eta", Float(1))
      .Attr("keep_top_k", Required(INT))
      .Attr("normalized", Bool(true))
      .TakeLod({})
      .Infer([](InferContext& op) { return InferSuppression(op, /*may_be_of_regions=*/true); });
}

}  // namespace

std::vector<OpSchema> SuppressionOps() {
  OpList ops;
  DefineNms(ops, "multiclass_nms(BBoxes, Scores) -> (Out)");
  DefineNms(ops, "multiclass_nms2(BBoxes, Scores) -> (Out, Index)");
  DefineNms(ops, "multiclass_nms3(BBoxes, Scores, RoisNum?) -> (Out, Index, NmsRoisNum?)");
  DefineNms(ops, "locality_aware_nms(BBoxes, Scores) -> (Out)", /*background=*/-1)
      .Doc(
          "The best boxes of each class, without those that overlap a better one; before, each box "
          "that overlaps the one before it is merged with that, by scores, which are added.")
      .Infer([](InferContext& op) { return InferSuppression(op, /*may_be_of_regions=*/false); });
  ops.Define("retinanet_detection_output(BBoxes*, Scores*, Anchors*, ImInfo) -> (Out)")
      .Doc(
          "The best boxes of each class, decoded from the offsets from anchors of all levels, "
          "without those that overlap a better one.")
      .Attr("score_threshold", Required(FLOAT))
      .Attr("nms_top_k", Required(INT))
      .Attr("nms_threshold", Required(FLOAT))
      .Attr("nms_eta", Required(FLOAT))
      .Attr("keep_top_k", Required(INT))
      .TakeLod({})
      .Infer(InferDetectionOutput);
  ops.Define("matrix_nms(BBoxes, Scores) -> (Out, Index, RoisNum?)")
      .Doc("The best boxes of each class, with scores lowered by what overlaps them.")
      .Attr("background_label", Int(0))
      .Attr("score_threshold", Required(FLOAT))
      .Attr("post_threshold", Float(0))
      .Attr("nms_top_k", Required(INT))
      .Attr("keep_top_k", Required(INT))
      .Attr("use_gaussian", Bool(false))
      .Attr("gaussian_sigma", Float(2))
      .Attr("normalized", Bool(true))
      .TakeLod({})
      .Infer([](InferContext& op) { return InferSuppression(op, /*may_be_of_regions=*/false); });
  return ops.Build();
}

}  // namespace fixpoint
