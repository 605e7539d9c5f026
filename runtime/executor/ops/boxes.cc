// Boxes around the places of an image, as networks predict them and as corners.

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/boxes/box.h"
#include "runtime/boxes/box_coding.h"
#include "runtime/boxes/placed_boxes.h"
#include "runtime/boxes/yolo_boxes.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

boxes::Corners CornersOf(const OpPlanner& op) {
  return op.attributes().Bool("box_normalized") ? boxes::Corners::kPlaces : boxes::Corners::kPixels;
}

using PlacedBoxesOf = absl::StatusOr<boxes::PlacedBoxes> (*)(const OpAttributes&,
                                                             const boxes::PlacedShapes&);

// Only the shapes of the inputs count.
absl::Status PlanPlacedBoxes(OpPlanner& op, absl::string_view image_slot,
                             absl::string_view boxes_slot, PlacedBoxesOf boxes_of) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType(boxes_slot));
  if (type.dtype != VarType::FP32) return absl::UnimplementedError("Input is not f32; want f32");
  const Dims& input = op.InputDims("Input");
  const Dims& image = op.InputDims(image_slot);
  ASSIGN_OR_RETURN(boxes::PlacedBoxes made,
                   boxes_of(op.attributes(), {input[2], input[3], image[2], image[3]}));
  const auto placed = std::make_shared<const boxes::PlacedBoxes>(std::move(made));
  const Buffer out = op.WriteAs(boxes_slot, type);
  const Buffer variances = op.WriteAs("Variances", type);
  op.AddStep({{}, {out, variances}, [=](const StepContext& run) {
                boxes::WriteBoxes(*placed, run.Floats(out));
                boxes::WriteVariances(*placed, run.Floats(variances));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanBoxCoder(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("OutputBox"));
  boxes::BoxCoding coding;
  coding.corners = CornersOf(op);
  coding.encodes = op.attributes().String("code_type") == "encode_center_size";
  coding.prior_axis = op.attributes().Int("axis") == 0 ? 1 : 0;
  coding.targets = type.dims[0];
  coding.priors = type.dims[1];
  ASSIGN_OR_RETURN(const Buffer priors, op.ReadFloats("PriorBox"));
  ASSIGN_OR_RETURN(const Buffer targets, op.ReadFloats("TargetBox"));
  std::vector<Buffer> reads = {priors, targets};
  std::vector<float> of_all;
  if (op.HasInput("PriorBoxVar")) {
    ASSIGN_OR_RETURN(const Buffer variances, op.ReadFloats("PriorBoxVar"));
    reads.push_back(variances);
  } else {
    for (const double variance : op.attributes().Floats("variance")) {
      of_all.push_back(static_cast<float>(variance));
    }
  }
  const Buffer out = op.WriteAs("OutputBox", type);
  op.AddStep({reads, {out}, [=](const StepContext& run) {
                boxes::Variances<float> variances{of_all};
                if (reads.size() > 2) variances.values = run.Floats(reads[2]);
                boxes::CodeBoxes<float>(coding, run.Floats(priors), variances, run.Floats(targets),
                                        run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanIouSimilarity(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Y"));
  const Buffer out = op.WriteAs("Out", type);
  op.AddStep({{x, y}, {out}, [=, corners = CornersOf(op)](const StepContext& run) {
                const float* const a = run.Floats(x).data();
                const float* const b = run.Floats(y).data();
                float* next = run.Floats(out).data();
                for (int64_t i = 0; i < type.dims[0]; ++i) {
                  for (int64_t j = 0; j < type.dims[1]; ++j) {
                    *next++ = boxes::Similarity(a + i * 4, b + j * 4, corners);
                  }
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanBoxClip(OpPlanner& op) {
  const TensorType type = op.InputType("Input");
  ASSIGN_OR_RETURN(const std::vector<Sequence> images,
                   SequencesOf("Input", type.dims, op.InputLod("Input")));
  RETURN_IF_ERROR(op.CheckDims("ImInfo", {static_cast<int64_t>(images.size()), 3}));
  if (type.dims.back() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input is ", DimsText(type.dims), "; want boxes of 4 numbers"));
  }
  const int64_t width = type.dims[0] > 0 ? type.size() / type.dims[0] : 0;
  ASSIGN_OR_RETURN(const Buffer input, op.ReadFloats("Input"));
  ASSIGN_OR_RETURN(const Buffer sizes, op.ReadFloats("ImInfo"));
  const Buffer out = op.WriteOver("Output", type, Layout::kRowMajor, input);
  op.AddStep({{input, sizes}, {out}, [=](const StepContext& run) {
                const absl::Span<const float> from = run.Floats(input);
                const absl::Span<float> to = run.Floats(out);
                for (size_t i = 0; i < images.size(); ++i) {
                  const float* const size = run.Floats(sizes).data() + i * 3;
                  const float most[2] = {std::round(size[1] / size[2]) - 1,
                                         std::round(size[0] / size[2]) - 1};
                  for (int64_t k = images[i].begin * width; k < images[i].end * width; ++k) {
                    to[k] = std::max(std::min(from[k], most[k % 2]), 0.0f);
                  }
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanYoloBox(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType boxes_type, op.OutputType("Boxes"));
  ASSIGN_OR_RETURN(const TensorType scores_type, op.OutputType("Scores"));
  const Dims& dims = op.InputDims("X");
  const OpAttributes& attributes = op.attributes();
  boxes::YoloBoxes made{dims[0],
                        dims[2],
                        dims[3],
                        attributes.Int("class_num"),
                        attributes.Ints("anchors"),
                        static_cast<double>(attributes.Int("downsample_ratio")),
                        attributes.Float("conf_thresh"),
                        attributes.Bool("clip_bbox"),
                        attributes.Float("scale_x_y")};
  made.has_iou = op.era() == Era::kPaddle2 && attributes.Bool("iou_aware");
  made.iou_factor = attributes.Float("iou_aware_factor");
  made.divides_by_height = op.era() == Era::kFluid;
  const auto yolo = std::make_shared<const boxes::YoloBoxes>(std::move(made));
  RETURN_IF_ERROR(op.CheckDims("ImgSize", {yolo->images, 2}));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer sizes, op.Read("ImgSize", VarType::INT32));
  const Buffer boxes = op.WriteAs("Boxes", boxes_type);
  const Buffer scores = op.WriteAs("Scores", scores_type);
  op.AddStep({{x, sizes}, {boxes, scores}, [=](const StepContext& run) {
                const absl::Span<const int32_t> size = run.Of<int32_t>(sizes);
                for (int64_t i = 0; i < yolo->images; ++i) {
                  const auto part = [&](Buffer buffer) {
                    const int64_t of_image = buffer.size / yolo->images;
                    return run.Floats(buffer).subspan(i * of_image, of_image);
                  };
                  boxes::FindYoloBoxes<float>(*yolo, part(x), size[i * 2], size[i * 2 + 1],
                                              part(boxes), part(scores));
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans BoxesPlans() {
  return {
      {"prior_box",
       [](OpPlanner& op) { return PlanPlacedBoxes(op, "Image", "Boxes", boxes::PriorBoxesOf); }},
      {"density_prior_box",
       [](OpPlanner& op) {
         return PlanPlacedBoxes(op, "Image", "Boxes", boxes::DensityPriorBoxesOf);
       }},
      {"anchor_generator",
       [](OpPlanner& op) { return PlanPlacedBoxes(op, "Input", "Anchors", boxes::AnchorsOf); }},
      {"box_coder", PlanBoxCoder},
      {"iou_similarity", PlanIouSimilarity},
      {"box_clip", PlanBoxClip},
      {"yolo_box", PlanYoloBox}};
}

}  // namespace fixpoint::executor
