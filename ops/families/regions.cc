// Regions of images: pooled to maps of one size, proposed, and spread over levels of features.

#include "absl/strings/str_cat.h"
#include "ops/families/box_shapes.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferRegionPooling(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo rois = op.Input("ROIs");
  const bool has_places = op.schema().FindOutput("Argmax", op.era()) != nullptr;
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (has_places) op.SetOutput("Argmax", VarType::INT64, std::nullopt);
  ASSIGN_OR_RETURN(const int64_t height, PositiveAttr(op, "pooled_height"));
  ASSIGN_OR_RETURN(const int64_t width, PositiveAttr(op, "pooled_width"));
  RETURN_IF_ERROR(CheckRowsOfBoxes("ROIs", rois));
  if (x.rank() != 4 || !rois.has_dims()) return absl::OkStatus();
  Dims dims = {rois.dims[0], x.dims[1], height, width};
  if (op.schema().FindAttr("output_channels", op.era()) != nullptr) {
    ASSIGN_OR_RETURN(dims[1], PositiveAttr(op, "output_channels"));
    ASSIGN_OR_RETURN(const int64_t bins, ElementCount({dims[1], height, width}));
    if (!MayBeEqual(x.dims[1], bins)) {
      return absl::InvalidArgumentError(
          absl::StrCat("X is ", DimsText(x.dims), "; want ", bins, " channels, one for each bin"));
    }
  }
  RETURN_IF_ERROR(ElementCount(dims).status());
  op.SetOutput("Out", x.dtype, dims);
  if (has_places) op.SetOutput("Argmax", VarType::INT64, dims);
  return absl::OkStatus();
}

absl::Status InferProposals(InferContext& op) {
  const TensorInfo scores = op.Input("Scores");
  if (scores.has_dims() && scores.rank() != 4) {
    return absl::InvalidArgumentError(absl::StrCat("Scores is ", DimsText(scores.dims),
                                                   "; want [images, anchors, height, width]"));
  }
  op.SetOutput("RpnRois", scores.dtype, Dims{kUnknownDim, 4});
  op.SetOutput("RpnRoiProbs", scores.dtype, Dims{kUnknownDim, 1});
  op.SetOutput("RpnRoisNum", VarType::INT32, Dims{scores.has_dims() ? scores.dims[0] : -1});
  return absl::OkStatus();
}

absl::Status InferDistributeProposals(InferContext& op) {
  const TensorInfo rois = op.Input("FpnRois");
  RETURN_IF_ERROR(CheckRowsOfBoxes("FpnRois", rois));
  const int64_t levels = op.OutputCount("MultiFpnRois");
  int64_t apart;
  if (__builtin_sub_overflow(op.Int("max_level"), op.Int("min_level"), &apart) ||
      apart != levels - 1 || levels < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "min_level is ", op.Int("min_level"), " and max_level ", op.Int("max_level"), ", of ",
        op.OutputCount("MultiFpnRois"), " outputs MultiFpnRois; want one for each level"));
  }
  const TensorInfo counts = op.Input("RoisNum");
  for (int i = 0; i < static_cast<int>(levels); ++i) {
    op.SetOutput("MultiFpnRois", i, rois.dtype, Dims{kUnknownDim, 4});
    op.SetOutput("MultiLevelRoIsNum", i, VarType::INT32,
                 Dims{counts.has_dims() ? counts.dims[0] : kUnknownDim});
  }
  op.SetOutput("RestoreIndex", VarType::INT32,
               Dims{rois.has_dims() ? rois.dims[0] : kUnknownDim, 1});
  return absl::OkStatus();
}

absl::Status InferCollectProposals(InferContext& op) {
  const TensorInfo rois = op.Input("MultiLevelRois");
  RETURN_IF_ERROR(PositiveAttr(op, "post_nms_topN").status());
  op.SetOutput("FpnRois", rois.dtype, Dims{kUnknownDim, 4});
  op.SetOutput("RoisNum", VarType::INT32, Dims{kUnknownDim});
  return absl::OkStatus();
}

void DefinePooling(OpList& ops) {
  ops.Define("roi_align(X, ROIs, RoisLod?@1, RoisNum?@2) -> (Out)")
      .Doc("Averages of X over a grid in each region.")
      .Attr("spatial_scale", Float(1))
      .Attr("pooled_height", Int(1))
      .Attr("pooled_width", Int(1))
      .Attr("sampling_ratio", Int(-1))
      .Attr("aligned", Bool(false), Eras::kPaddle2)
      .TakeLod({})
      .Infer(InferRegionPooling)
      .QuantizableOutputs({"Out"})
      .Gradient("roi_align_grad(X, ROIs, RoisLod, RoisNum, Out@GRAD) -> (X@GRAD)");
  ops.Define("roi_pool(X, ROIs, RoisLod?@1, RoisNum?@2) -> (Out, Argmax)")
      .Doc("The largest elements of X in each part of each region.")
      .Attr("spatial_scale", Float(1))
      .Attr("pooled_height", Int(1))
      .Attr("pooled_width", Int(1))
      .TakeLod({})
      .Infer(InferRegionPooling)
      .Gradient("roi_pool_grad(X, ROIs, RoisLod, RoisNum, Argmax, Out@GRAD) -> (X@GRAD)");
}

void DefineOwnChannelPooling(OpList& ops) {
  ops.Define("psroi_pool(X, ROIs, RoisNum?@2) -> (Out)")
      .Doc("The average of X in each bin of each region; each bin reads channels of its own.")
      .Attr("output_channels", Required(INT), Eras::kFluid)
      .Attr("output_channels", Int(1), Eras::kPaddle2)
      .Attr("spatial_scale", Float(1))
      .Attr("pooled_height", Int(1))
      .Attr("pooled_width", Int(1))
      .TakeLod({})
      .Infer(InferRegionPooling)
      .QuantizableOutputs({"Out"})
      .Gradient("psroi_pool_grad(X, ROIs, RoisNum, Out@GRAD) -> (X@GRAD)");
}

void DefineExactPooling(OpList& ops) {
  ops.Define("prroi_pool(X, ROIs, BatchRoINums?) -> (Out)")
      .Doc("The integral of X, interpolated, over each bin of each region, by the bin's area.")
      .Attr("spatial_scale", Float(1))
      .Attr("pooled_height", Int(1))
      .Attr("pooled_width", Int(1))
      .TakeLod({})
      .Infer(InferRegionPooling)
      .QuantizableOutputs({"Out"})
      .Gradient("prroi_pool_grad(X, ROIs, BatchRoINums, Out, Out@GRAD) -> (X@GRAD, ROIs@GRAD)");
}

OpSchemaBuilder& DefineProposals(OpList& ops, absl::string_view type, absl::string_view sizes) {
  return ops
      .Define(absl::StrCat(type, "(Scores, BboxDeltas, ", sizes,
                           ", Anchors, Variances) -> (RpnRois, RpnRoiProbs, RpnRoisNum?@2)"))
      .Doc("The best regions of each image, without those that overlap a better one.")
      .Attr("pre_nms_topN", Required(INT))
      .Attr("post_nms_topN", Required(INT))
      .Attr("nms_thresh", Required(FLOAT))
      .Attr("min_size", Required(FLOAT))
      .Attr("eta", Required(FLOAT))
      .TakeLod({})
      .Infer(InferProposals);
}

}  // namespace

std::vector<OpSchema> RegionsOps() {
  OpList ops;
  DefinePooling(ops);
  DefineOwnChannelPooling(ops);
  DefineExactPooling(ops);
  DefineProposals(ops, "generate_proposals", "ImInfo");
  DefineProposals(ops, "generate_proposals_v2", "ImShape").Attr("pixel_offset", Bool(true));
  ops.Define(
         "distribute_fpn_proposals(FpnRois, RoisNum?@2) -> "
         "(MultiFpnRois*, RestoreIndex, MultiLevelRoIsNum*?@2)")
      .Doc("Regions by the level of the features that fits their size.")
      .Attr("min_level", Required(INT))
      .Attr("max_level", Required(INT))
      .Attr("refer_level", Required(INT))
      .Attr("refer_scale", Required(INT))
      .Attr("pixel_offset", Bool(true), Eras::kPaddle2)
      .TakeLod({})
      .Infer(InferDistributeProposals);
  ops.Define(
         "collect_fpn_proposals(MultiLevelRois*, MultiLevelScores*, MultiLevelRoIsNum*?@2) -> "
         "(FpnRois, RoisNum?@2)")
      .Doc("The best regions of all levels, by image.")
      .Attr("post_nms_topN", Required(INT))
      .TakeLod({})
      .Infer(InferCollectProposals);
  return ops.Build();
}

}  // namespace fixpoint
