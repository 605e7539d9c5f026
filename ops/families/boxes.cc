// Boxes around the places of an image, as networks predict them and as corners.

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/families/box_shapes.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "ops/prior_ratios.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status CheckPositive(absl::string_view name, const std::vector<double>& values) {
  for (const double value : values) {
    if (value > 0 && std::isfinite(value)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has ", value, "; want positive numbers"));
  }
  return absl::OkStatus();
}

absl::Status CheckCount(absl::string_view name, size_t count, size_t wanted) {
  if (count == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " has ", count, " values; want ", wanted));
}

// Both outputs are [H, W, boxes, 4] with the input's H and W.
absl::Status SetBoxes(InferContext& op, absl::string_view boxes_slot, int64_t boxes) {
  const TensorInfo input = op.Input("Input");
  const Dims dims = {input.dims[2], input.dims[3], boxes, 4};
  RETURN_IF_ERROR(ElementCount(dims).status());
  for (const absl::string_view slot : {boxes_slot, absl::string_view("Variances")}) {
    op.SetOutput(slot, input.dtype, dims);
  }
  return absl::OkStatus();
}

absl::Status InferPriorBox(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  RETURN_IF_ERROR(CheckRank("Input", input, 4));
  RETURN_IF_ERROR(CheckRank("Image", op.Input("Image"), 4));
  ASSIGN_OR_RETURN(const std::vector<double> ratios,
                   PriorRatios(op.Floats("aspect_ratios"), op.Bool("flip")));
  const std::vector<double> smallest = op.Floats("min_sizes");
  const std::vector<double> largest = op.Floats("max_sizes");
  RETURN_IF_ERROR(CheckPositive("min_sizes", smallest));
  RETURN_IF_ERROR(CheckPositive("max_sizes", largest));
  if (!largest.empty()) RETURN_IF_ERROR(CheckCount("max_sizes", largest.size(), smallest.size()));
  if (input.rank() != 4) return absl::OkStatus();
  return SetBoxes(op, "Boxes",
                  static_cast<int64_t>(ratios.size() * smallest.size() + largest.size()));
}

absl::Status InferDensityPriorBox(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  RETURN_IF_ERROR(CheckRank("Input", input, 4));
  RETURN_IF_ERROR(CheckRank("Image", op.Input("Image"), 4));
  const std::vector<double> sizes = op.Floats("fixed_sizes");
  const std::vector<double> ratios = op.Floats("fixed_ratios");
  const std::vector<int64_t> densities = op.Ints("densities");
  RETURN_IF_ERROR(CheckPositive("fixed_sizes", sizes));
  RETURN_IF_ERROR(CheckPositive("fixed_ratios", ratios));
  RETURN_IF_ERROR(CheckCount("densities", densities.size(), sizes.size()));
  int64_t boxes = 0;
  for (const int64_t density : densities) {
    constexpr int64_t kMost = 1 << 15;
    if (density < 1 || density > kMost) {
      return absl::InvalidArgumentError(
          absl::StrCat("densities has ", density, "; want 1 to ", kMost));
    }
    ASSIGN_OR_RETURN(const int64_t of_size,
                     ElementCount({density, density, static_cast<int64_t>(ratios.size())}));
    if (__builtin_add_overflow(boxes, of_size, &boxes)) {
      return absl::InvalidArgumentError("the number of boxes is more than an int64 holds");
    }
  }
  if (input.rank() != 4) return absl::OkStatus();
  RETURN_IF_ERROR(SetBoxes(op, "Boxes", boxes));
  if (!op.Bool("flatten_to_2d")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t all, ElementCount({input.dims[2], input.dims[3], boxes}));
  for (const char* slot : {"Boxes", "Variances"}) op.SetOutput(slot, input.dtype, Dims{all, 4});
  return absl::OkStatus();
}

absl::Status InferAnchorGenerator(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  RETURN_IF_ERROR(CheckRank("Input", input, 4));
  const std::vector<double> sizes = op.Floats("anchor_sizes");
  const std::vector<double> ratios = op.Floats("aspect_ratios");
  RETURN_IF_ERROR(CheckPositive("anchor_sizes", sizes));
  RETURN_IF_ERROR(CheckPositive("aspect_ratios", ratios));
  const std::vector<double> stride = op.Floats("stride");
  RETURN_IF_ERROR(CheckPositive("stride", stride));
  RETURN_IF_ERROR(CheckCount("stride", stride.size(), 2));
  if (input.rank() != 4) return absl::OkStatus();
  return SetBoxes(op, "Anchors", static_cast<int64_t>(sizes.size() * ratios.size()));
}

// Encoding: TargetBox [N, 4] and PriorBox [M, 4] make [N, M, 4]; decoding: TargetBox [N, M, 4]
// stays as it is.
absl::Status InferBoxCoder(InferContext& op) {
  const TensorInfo prior = op.Input("PriorBox");
  const TensorInfo target = op.Input("TargetBox");
  op.SetOutput("OutputBox", target.dtype, std::nullopt);
  const std::string type = op.String("code_type");
  const bool encodes = type == "encode_center_size";
  if (!encodes && type != "decode_center_size") {
    return absl::InvalidArgumentError(
        absl::StrCat("code_type is \"", type, "\"; want encode_center_size or decode_center_size"));
  }
  const int64_t axis = op.Int("axis");
  if (axis != 0 && axis != 1) {
    return absl::InvalidArgumentError(absl::StrCat("axis is ", axis, "; want 0 or 1"));
  }
  const std::vector<double> variance = op.Floats("variance");
  if (!variance.empty()) RETURN_IF_ERROR(CheckCount("variance", variance.size(), 4));
  if (!variance.empty() && op.HasInput("PriorBoxVar")) {
    return absl::InvalidArgumentError("there are PriorBoxVar and variance; want one of them");
  }
  if (!prior.has_dims() || !target.has_dims()) return absl::OkStatus();
  const auto refuse = [&](absl::string_view want) {
    return absl::InvalidArgumentError(absl::StrCat("PriorBox is ", DimsText(prior.dims),
                                                   " and TargetBox ", DimsText(target.dims),
                                                   "; want ", want));
  };
  const bool has_boxes =
      prior.rank() == 2 && MayBeEqual(prior.dims[1], 4) && MayBeEqual(target.dims.back(), 4);
  if (const TensorInfo var = op.Input("PriorBoxVar");
      var.has_dims() && !MayBeEqual(var.dims, prior.dims)) {
    return absl::InvalidArgumentError(absl::StrCat("PriorBoxVar is ", DimsText(var.dims), "; want ",
                                                   DimsText(prior.dims), ", as PriorBox is"));
  }
  if (encodes) {
    if (!has_boxes || target.rank() != 2) return refuse("[M, 4] and [N, 4]");
    op.SetOutput("OutputBox", target.dtype, Dims{target.dims[0], prior.dims[0], 4});
    return absl::OkStatus();
  }
  const bool fits =
      has_boxes && target.rank() == 3 && MayBeEqual(target.dims[axis == 0 ? 1 : 0], prior.dims[0]);
  if (!fits) return refuse(axis == 0 ? "[M, 4] and [N, M, 4]" : "[N, 4] and [N, M, 4]");
  op.SetOutputLike("OutputBox", target);
  return absl::OkStatus();
}

absl::Status InferYoloBox(InferContext& op) {
  const TensorInfo x = op.Input("X");
  ASSIGN_OR_RETURN(const int64_t classes, PositiveAttr(op, "class_num"));
  ASSIGN_OR_RETURN(const int64_t downsample_ratio, PositiveAttr(op, "downsample_ratio"));
  static_cast<void>(downsample_ratio);
  const std::vector<int64_t> sizes = op.Ints("anchors");
  const int64_t anchors = static_cast<int64_t>(sizes.size()) / 2;
  if (sizes.empty() || sizes.size() % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("anchors has ", sizes.size(), " values; want pairs of width and height"));
  }
  for (const int64_t size : sizes) {
    if (size > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("anchors has ", size, "; want positive numbers"));
  }
  if (x.rank() != 4) return absl::OkStatus();
  const bool has_iou =
      op.schema().FindAttr("iou_aware", op.era()) != nullptr && op.Bool("iou_aware");
  int64_t wanted;
  if (__builtin_add_overflow(classes, has_iou ? 6 : 5, &wanted) ||
      __builtin_mul_overflow(wanted, anchors, &wanted) || !MayBeEqual(x.dims[1], wanted)) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), "; want ",
                                                   has_iou ? 6 : 5, " + ", classes,
                                                   " channels for each of ", anchors, " anchors"));
  }
  ASSIGN_OR_RETURN(const int64_t boxes, ElementCount({x.dims[2], x.dims[3], anchors}));
  op.SetOutput("Boxes", x.dtype, Dims{x.dims[0], boxes, 4});
  op.SetOutput("Scores", x.dtype, Dims{x.dims[0], boxes, classes});
  return absl::OkStatus();
}

absl::Status InferPairs(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  op.SetOutput("Out", x.dtype, std::nullopt);
  RETURN_IF_ERROR(CheckRowsOfBoxes("X", x));
  RETURN_IF_ERROR(CheckRowsOfBoxes("Y", y));
  if (x.has_dims() && y.has_dims()) op.SetOutput("Out", x.dtype, Dims{x.dims[0], y.dims[0]});
  return absl::OkStatus();
}

absl::Status InferBoxClip(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  const TensorInfo sizes = op.Input("ImInfo");
  op.SetOutputLike("Output", input);
  if (input.has_dims() && !MayBeEqual(input.dims.back(), 4)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input is ", DimsText(input.dims), "; want boxes of 4 numbers"));
  }
  if (sizes.has_dims() && (sizes.rank() != 2 || !MayBeEqual(sizes.dims[1], 3))) {
    return absl::InvalidArgumentError(
        absl::StrCat("ImInfo is ", DimsText(sizes.dims), "; want [images, 3]"));
  }
  return absl::OkStatus();
}

void DefinePlacedBoxes(OpList& ops) {
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
      .TakeLod({})
      .Infer(InferPriorBox);
  ops.Define("density_prior_box(Input, Image) -> (Boxes, Variances)")
      .Doc("Boxes of each of fixed_sizes, density x density of them around each place of Input.")
      .Attr("variances", Required(FLOATS))
      .Attr("clip", Bool(true))
      .Attr("flatten_to_2d", Bool(false))
      .Attr("step_w", Float(0))
      .Attr("step_h", Float(0))
      .Attr("offset", Float(0.5f))
      .Attr("fixed_sizes", Floats({}))
      .Attr("fixed_ratios", Floats({}))
      .Attr("densities", Ints({}))
      .TakeLod({})
      .Infer(InferDensityPriorBox);
  ops.Define("anchor_generator(Input) -> (Anchors, Variances)")
      .Doc("Boxes in pixels of each aspect ratio and size around each place of Input.")
      .Attr("anchor_sizes", Required(FLOATS))
      .Attr("aspect_ratios", Required(FLOATS))
      .Attr("variances", Required(FLOATS))
      .Attr("stride", Floats({16, 16}))
      .Attr("offset", Float(0.5f))
      .TakeLod({})
      .Infer(InferAnchorGenerator);
}

}  // namespace

std::vector<OpSchema> BoxesOps() {
  OpList ops;
  DefinePlacedBoxes(ops);
  ops.Define("box_coder(PriorBox, PriorBoxVar?, TargetBox) -> (OutputBox)")
      .Doc("Boxes relative to prior boxes, or back.")
      .Attr("code_type", String("encode_center_size"))
      .Attr("box_normalized", Bool(true))
      .Attr("axis", Int(0))
      .Attr("variance", Floats({}))
      .Infer(InferBoxCoder)
      .QuantizableOutputs({"OutputBox"});
  ops.Define("iou_similarity(X, Y) -> (Out)")
      .Doc("Intersection over union of each box of X with each of Y.")
      .Attr("box_normalized", Bool(true))
      .Infer(InferPairs);
  ops.Define("box_clip(Input, ImInfo) -> (Output)")
      .Doc("The boxes of each image, cut to its size: ImInfo is height, width and scale.")
      .Infer(InferBoxClip);
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
  return ops.Build();
}

}  // namespace fixpoint
