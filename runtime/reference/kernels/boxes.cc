// Boxes around the places of an image, as networks predict them and as corners.

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/boxes/box.h"
#include "runtime/boxes/box_coding.h"
#include "runtime/boxes/placed_boxes.h"
#include "runtime/boxes/yolo_boxes.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/elements.h"

namespace fixpoint::reference {
namespace {

boxes::Corners CornersOf(const OpRun& op) {
  return op.Bool("box_normalized") ? boxes::Corners::kPlaces : boxes::Corners::kPixels;
}

using PlacedBoxesOf = absl::StatusOr<boxes::PlacedBoxes> (*)(const OpAttributes&,
                                                             const boxes::PlacedShapes&);

absl::Status PlaceBoxes(OpRun& op, absl::string_view image_slot, absl::string_view boxes_slot,
                        PlacedBoxesOf boxes_of) {
  RETURN_IF_ERROR(op.CheckRank("Input", 4));
  RETURN_IF_ERROR(op.CheckRank(image_slot, 4));
  const Array& input = op.Input("Input");
  const Array& image = op.Input(image_slot);
  ASSIGN_OR_RETURN(
      const boxes::PlacedBoxes placed,
      boxes_of(op.attributes(), {input.dims[2], input.dims[3], image.dims[2], image.dims[3]}));
  Dims dims = {placed.height, placed.width, static_cast<int64_t>(placed.boxes.size()), 4};
  const bool is_flat = op.op().type() == "density_prior_box" && op.Bool("flatten_to_2d");
  if (is_flat) dims = {Volume(dims) / 4, 4};
  Array boxes(input.dtype, dims);
  Array variances(input.dtype, dims);
  boxes::WriteBoxes(placed, MutableValues(boxes));
  boxes::WriteVariances(placed, MutableValues(variances));
  op.SetOutput(boxes_slot, std::move(boxes));
  op.SetOutput("Variances", std::move(variances));
  return absl::OkStatus();
}

absl::Status BoxCoder(OpRun& op) {
  const Array& priors = op.Input("PriorBox");
  const Array& targets = op.Input("TargetBox");
  boxes::BoxCoding coding;
  coding.corners = CornersOf(op);
  coding.encodes = op.String("code_type") == "encode_center_size";
  coding.prior_axis = op.Int("axis") == 0 ? 1 : 0;
  RETURN_IF_ERROR(op.CheckDims("PriorBox", Dims{priors.dims.empty() ? 0 : priors.dims[0], 4}));
  RETURN_IF_ERROR(op.CheckRank("TargetBox", coding.encodes ? 2 : 3));
  coding.targets = targets.dims[0];
  coding.priors = coding.encodes ? priors.dims[0] : targets.dims[1];
  if (coding.encodes) {
    RETURN_IF_ERROR(op.CheckDims("TargetBox", Dims{coding.targets, 4}));
  } else {
    RETURN_IF_ERROR(op.CheckDims("TargetBox", Dims{coding.targets, coding.priors, 4}));
    RETURN_IF_ERROR(
        op.CheckDims("PriorBox", Dims{coding.prior_axis == 1 ? coding.priors : coding.targets, 4}));
  }
  boxes::Variances<double> variances;
  const std::vector<double> of_all = op.Floats("variance");
  if (const Array* of_each = op.FindInput("PriorBoxVar"); of_each != nullptr) {
    RETURN_IF_ERROR(op.CheckDims("PriorBoxVar", priors.dims));
    variances.values = Values(*of_each);
  } else if (!of_all.empty()) {
    variances.values = of_all;
  }
  Array out(targets.dtype, Dims{coding.targets, coding.priors, 4});
  boxes::CodeBoxes(coding, Values(priors), variances, Values(targets), MutableValues(out));
  op.SetOutput("OutputBox", std::move(out));
  return absl::OkStatus();
}

absl::Status IouSimilarity(OpRun& op) {
  for (const char* slot : {"X", "Y"}) {
    RETURN_IF_ERROR(op.CheckRank(slot, 2));
    RETURN_IF_ERROR(op.CheckDims(slot, Dims{op.Input(slot).dims[0], 4}));
  }
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  Array out(x.dtype, Dims{x.dims[0], y.dims[0]});
  for (int64_t i = 0; i < x.dims[0]; ++i) {
    for (int64_t j = 0; j < y.dims[0]; ++j) {
      out[i * y.dims[0] + j] = boxes::Similarity(&x.values[i * 4], &y.values[j * 4], CornersOf(op));
    }
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// The boxes of each sequence are those of an image, of height, width and scale.
absl::Status BoxClip(OpRun& op) {
  const Array& input = op.Input("Input");
  ASSIGN_OR_RETURN(const std::vector<Sequence> images, SequencesOf("Input", input.dims, input.lod));
  RETURN_IF_ERROR(op.CheckDims("ImInfo", Dims{static_cast<int64_t>(images.size()), 3}));
  if (input.dims.back() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input is ", DimsText(input.dims), "; want boxes of 4 numbers"));
  }
  const Array& sizes = op.Input("ImInfo");
  const int64_t width = input.dims[0] > 0 ? input.size() / input.dims[0] : 0;
  Array out = input;
  for (size_t i = 0; i < images.size(); ++i) {
    for (int64_t k = images[i].begin * width; k < images[i].end * width; ++k) {
      const double size = sizes[i * 3 + (k % 2 == 0 ? 1 : 0)];
      const double most = std::round(size / sizes[i * 3 + 2]) - 1;
      out[k] = std::max(std::min(out[k], most), 0.0);
    }
  }
  op.SetOutput("Output", std::move(out));
  return absl::OkStatus();
}

absl::Status YoloBox(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 4));
  const Array& x = op.Input("X");
  const int64_t images = x.dims[0];
  RETURN_IF_ERROR(op.CheckDims("ImgSize", Dims{images, 2}));
  const Array& sizes = op.Input("ImgSize");
  boxes::YoloBoxes yolo{images,
                        x.dims[2],
                        x.dims[3],
                        op.Int("class_num"),
                        op.Ints("anchors"),
                        static_cast<double>(op.Int("downsample_ratio")),
                        op.Float("conf_thresh"),
                        op.Bool("clip_bbox"),
                        op.Float("scale_x_y")};
  if (yolo.classes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("class_num is ", yolo.classes, "; want 1 or more"));
  }
  yolo.has_iou = op.era() == Era::kPaddle2 && op.Bool("iou_aware");
  yolo.iou_factor = op.Float("iou_aware_factor");
  yolo.divides_by_height = op.era() == Era::kFluid;
  RETURN_IF_ERROR(
      op.CheckDims("X", Dims{images, yolo.anchor_count() * (yolo.classes + (yolo.has_iou ? 6 : 5)),
                             x.dims[2], x.dims[3]}));
  Array boxes(x.dtype, Dims{images, yolo.boxes(), 4});
  Array scores(x.dtype, Dims{images, yolo.boxes(), yolo.classes});
  Array all = x;
  for (int64_t i = 0; i < images; ++i) {
    const auto part = [i, images](auto& values) {
      const auto size = values.size() / images;
      return absl::MakeSpan(values).subspan(i * size, size);
    };
    boxes::FindYoloBoxes<double>(yolo, part(all.values), ToInt(sizes[i * 2]),
                                 ToInt(sizes[i * 2 + 1]), part(boxes.values), part(scores.values));
  }
  op.SetOutput("Boxes", std::move(boxes));
  op.SetOutput("Scores", std::move(scores));
  return absl::OkStatus();
}

}  // namespace

Kernels BoxesKernels() {
  return {{"prior_box",
           [](OpRun& op) { return PlaceBoxes(op, "Image", "Boxes", boxes::PriorBoxesOf); }},
          {"density_prior_box",
           [](OpRun& op) { return PlaceBoxes(op, "Image", "Boxes", boxes::DensityPriorBoxesOf); }},
          {"anchor_generator",
           [](OpRun& op) { return PlaceBoxes(op, "Input", "Anchors", boxes::AnchorsOf); }},
          {"box_coder", BoxCoder},
          {"iou_similarity", IouSimilarity},
          {"box_clip", BoxClip},
          {"yolo_box", YoloBox}};
}

}  // namespace fixpoint::reference
