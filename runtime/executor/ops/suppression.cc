// The best boxes of each class. A run decides how many there are.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/boxes/detections.h"
#include "runtime/boxes/regions.h"
#include "runtime/boxes/suppression_shape.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/counts.h"
#include "runtime/executor/ops/run_shape.h"

namespace fixpoint::executor {
namespace {

using boxes::KeptRows;
using boxes::SuppressionShape;

constexpr int64_t kRowWidth = 6;

// Where an op writes what is kept.
struct KeptOutputs {
  Buffer out;
  RunShape out_shape;
  std::optional<Buffer> index;
  std::optional<RunShape> index_shape;
  std::optional<Buffer> counts;

  std::vector<Buffer> buffers() const {
    std::vector<Buffer> all = out_shape.buffers();
    all.push_back(out);
    if (index) {
      all.push_back(*index);
      for (const Buffer buffer : index_shape->buffers()) all.push_back(buffer);
    }
    if (counts) all.push_back(*counts);
    return all;
  }

  void Write(const StepContext& run, const KeptRows<float>& kept) const {
    WriteRows<float>(run, out_shape, {kept.size(), kRowWidth}, kept.rows, out);
    if (out_shape.has_offsets()) DecideOffsets(run, out_shape, kept.offsets);
    if (index) {
      WriteRows<int32_t>(run, *index_shape, {kept.size(), 1}, kept.places, *index);
      if (index_shape->has_offsets()) DecideOffsets(run, *index_shape, kept.offsets);
    }
    if (!counts) return;
    const absl::Span<int32_t> of_images = run.Of<int32_t>(*counts);
    for (size_t i = 0; i < of_images.size(); ++i) {
      of_images[i] = static_cast<int32_t>(kept.OfImage(static_cast<int64_t>(i)));
    }
  }
};

// Declares the outputs of an op that keeps up to `most` boxes.
KeptOutputs DeclareOutputs(OpPlanner& op, int64_t most, int64_t images, bool has_offsets,
                           bool has_index, absl::string_view counts_slot) {
  KeptOutputs outputs;
  std::vector<int64_t> offsets;
  if (has_offsets) offsets.push_back(images + 1);
  outputs.out = op.WriteAs("Out", {VarType::FP32, {most, kRowWidth}});
  outputs.out_shape = op.DecideShape("Out", offsets);
  if (has_index) {
    outputs.index = op.WriteAs("Index", {VarType::INT32, {most, 1}});
    outputs.index_shape = op.DecideShape("Index", offsets);
  }
  if (!counts_slot.empty()) {
    outputs.counts = op.WriteAs(counts_slot, {VarType::INT32, {images}});
  }
  return outputs;
}

// The images of regions: from offsets that are known, or counts that the run reads.
struct ImagesOfRegions {
  int64_t count = 1;
  std::vector<int64_t> offsets;
  std::optional<Counts> counts;

  absl::StatusOr<std::vector<int64_t>> OffsetsIn(const StepContext& run, int64_t regions) const {
    if (!counts) return offsets;
    const std::vector<int64_t> of_images = counts->In(run);
    RETURN_IF_ERROR(boxes::ImagesFromCounts("RoisNum", of_images, regions).status());
    std::vector<int64_t> made = {0};
    for (const int64_t of_image : of_images) made.push_back(made.back() + of_image);
    return made;
  }
};

absl::StatusOr<ImagesOfRegions> ImagesOf(OpPlanner& op, const SuppressionShape& shape) {
  ImagesOfRegions images;
  images.count = shape.images;
  if (!shape.is_of_regions) return images;
  if (op.HasInputSlot("RoisNum") && op.HasInput("RoisNum")) {
    ASSIGN_OR_RETURN(images.counts, ReadCounts(op, "RoisNum"));
    images.count = images.counts->buffer.size;
    return images;
  }
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences,
                   SequencesOf("BBoxes", op.InputDims("BBoxes"), op.InputLod("BBoxes")));
  images.offsets.push_back(0);
  for (const Sequence& sequence : sequences) images.offsets.push_back(sequence.end);
  images.count = static_cast<int64_t>(sequences.size());
  return images;
}

// The most boxes that are kept. Error (kInvalidArgument): more than an int64 holds numbers of.
absl::StatusOr<int64_t> MostOf(const boxes::SuppressionLimits& limits,
                               const SuppressionShape& shape, int64_t images) {
  const int64_t most = limits.MostOf(images, shape.classes, shape.boxes);
  RETURN_IF_ERROR(ElementCount({most, kRowWidth}).status());
  return most;
}

// Without boxes locality_aware_nms, and the first version of multiclass_nms, give a single -1.
void WriteNone(const StepContext& run, const KeptOutputs& outputs) {
  run.Floats(outputs.out)[0] = -1;
  DecideRows(run, outputs.out_shape, {1, 1}, run.Floats(outputs.out));
  DecideOffsets(run, outputs.out_shape, std::vector<int64_t>{0, 1});
}

enum class Version { k1, k2, k3 };

absl::Status PlanMulticlassNms(OpPlanner& op, Version version) {
  ASSIGN_OR_RETURN(const SuppressionShape shape,
                   boxes::SuppressionShapeOf(op.InputDims("BBoxes"), op.InputDims("Scores"),
                                             /*may_be_of_regions=*/true));
  const boxes::GreedySuppression suppression = boxes::GreedySuppressionOf(op.attributes());
  ASSIGN_OR_RETURN(const ImagesOfRegions images, ImagesOf(op, shape));
  ASSIGN_OR_RETURN(int64_t most, MostOf(suppression.limits, shape, images.count));
  if (version == Version::k1) most = std::max<int64_t>(most, 1);
  ASSIGN_OR_RETURN(const Buffer boxes, op.ReadFloats("BBoxes"));
  ASSIGN_OR_RETURN(const Buffer scores, op.ReadFloats("Scores"));
  std::vector<Buffer> reads = {boxes, scores};
  if (images.counts) reads.push_back(images.counts->buffer);
  const bool counts_images = version == Version::k3 && op.OutputCount("NmsRoisNum") > 0;
  const KeptOutputs outputs = DeclareOutputs(
      op, most, version == Version::k1 ? std::max<int64_t>(images.count, 1) : images.count,
      version != Version::k3, version != Version::k1, counts_images ? "NmsRoisNum" : "");
  op.AddStep({reads, outputs.buffers(), [=](const StepContext& run) -> absl::Status {
                ASSIGN_OR_RETURN(const std::vector<int64_t> offsets,
                                 images.OffsetsIn(run, shape.boxes));
                const KeptRows<float> kept = boxes::SuppressAll<float>(
                    shape, suppression, offsets, run.Floats(boxes), run.Floats(scores));
                if (version == Version::k1 && kept.size() == 0) {
                  WriteNone(run, outputs);
                } else {
                  outputs.Write(run, kept);
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanMatrixNms(OpPlanner& op) {
  ASSIGN_OR_RETURN(const SuppressionShape shape,
                   boxes::SuppressionShapeOf(op.InputDims("BBoxes"), op.InputDims("Scores"),
                                             /*may_be_of_regions=*/false));
  const boxes::MatrixSuppression suppression = boxes::MatrixSuppressionOf(op.attributes());
  ASSIGN_OR_RETURN(const int64_t most, MostOf(suppression.limits, shape, shape.images));
  ASSIGN_OR_RETURN(const Buffer boxes, op.ReadFloats("BBoxes"));
  ASSIGN_OR_RETURN(const Buffer scores, op.ReadFloats("Scores"));
  const KeptOutputs outputs =
      DeclareOutputs(op, most, shape.images, /*has_offsets=*/false, /*has_index=*/true,
                     op.OutputCount("RoisNum") > 0 ? "RoisNum" : "");
  op.AddStep({{boxes, scores}, outputs.buffers(), [=](const StepContext& run) {
                outputs.Write(run, boxes::SuppressAllByMatrix<float>(
                                       shape, suppression, run.Floats(boxes), run.Floats(scores)));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanLocalityAwareNms(OpPlanner& op) {
  ASSIGN_OR_RETURN(const SuppressionShape shape,
                   boxes::SuppressionShapeOf(op.InputDims("BBoxes"), op.InputDims("Scores"),
                                             /*may_be_of_regions=*/false));
  const boxes::GreedySuppression suppression = boxes::GreedySuppressionOf(op.attributes());
  ASSIGN_OR_RETURN(const int64_t most, MostOf(suppression.limits, shape, shape.images));
  ASSIGN_OR_RETURN(const Buffer boxes, op.ReadFloats("BBoxes"));
  ASSIGN_OR_RETURN(const Buffer scores, op.ReadFloats("Scores"));
  const KeptOutputs outputs =
      DeclareOutputs(op, std::max<int64_t>(most, 1), std::max<int64_t>(shape.images, 1),
                     /*has_offsets=*/true, /*has_index=*/false, "");
  op.AddStep({{boxes, scores}, outputs.buffers(), [=](const StepContext& run) {
                const absl::Span<const float> all = run.Floats(boxes);
                const absl::Span<const float> of_all = run.Floats(scores);
                const KeptRows<float> kept = boxes::MergeAndSuppressAll<float>(
                    shape, suppression, {all.begin(), all.end()}, {of_all.begin(), of_all.end()});
                if (kept.size() == 0) {
                  WriteNone(run, outputs);
                } else {
                  outputs.Write(run, kept);
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// What is detected at one level.
struct LevelInput {
  Buffer offsets;
  Buffer scores;
  Buffer anchors;
  int64_t count;
};

absl::Status CheckDims(const OpPlanner& op, absl::string_view slot, int level, const Dims& wanted) {
  const Dims& found = op.InputDims(slot, level);
  if (found == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, "[", level, "] is ", DimsText(found), "; want ", DimsText(wanted)));
}

absl::StatusOr<LevelInput> ReadLevel(OpPlanner& op, int i, int64_t images, int64_t classes) {
  const Dims& scores = op.InputDims("Scores", i);
  const int64_t count = scores.size() == 3 ? scores[1] : 0;
  RETURN_IF_ERROR(CheckDims(op, "Scores", i, {images, count, classes}));
  RETURN_IF_ERROR(CheckDims(op, "BBoxes", i, {images, count, 4}));
  RETURN_IF_ERROR(CheckDims(op, "Anchors", i, {count, 4}));
  LevelInput level;
  level.count = count;
  ASSIGN_OR_RETURN(level.offsets, op.ReadFloats("BBoxes", Layout::kRowMajor, i));
  ASSIGN_OR_RETURN(level.scores, op.ReadFloats("Scores", Layout::kRowMajor, i));
  ASSIGN_OR_RETURN(level.anchors, op.ReadFloats("Anchors", Layout::kRowMajor, i));
  return level;
}

absl::Status PlanRetinanetDetectionOutput(OpPlanner& op) {
  const int count = op.InputCount("BBoxes");
  if (count == 0 || op.InputCount("Scores") != count || op.InputCount("Anchors") != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", count, " inputs BBoxes, ", op.InputCount("Scores"), " Scores and ",
        op.InputCount("Anchors"), " Anchors; want one of each for each level"));
  }
  const Dims scores = op.InputDims("Scores");
  if (scores.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("Scores[0] is ", DimsText(scores), "; want [images, boxes, classes]"));
  }
  const int64_t images = scores[0];
  const int64_t classes = scores[2];
  const boxes::GreedySuppression suppression = boxes::DetectionLimitsOf(op.attributes());
  std::vector<LevelInput> levels;
  std::vector<Buffer> reads;
  int64_t candidates = 0;
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const LevelInput level, ReadLevel(op, i, images, classes));
    levels.push_back(level);
    reads.insert(reads.end(), {level.offsets, level.scores, level.anchors});
    const int64_t of_level = level.count * classes;
    const int64_t limit = suppression.limits.of_class;
    candidates += limit < 0 ? of_level : std::min(of_level, limit);
  }
  RETURN_IF_ERROR(op.CheckDims("ImInfo", {images, 3}));
  ASSIGN_OR_RETURN(const Buffer info, op.ReadFloats("ImInfo"));
  reads.push_back(info);
  const int64_t limit = suppression.limits.of_image;
  const int64_t most = images * (limit < 0 ? candidates : std::min(candidates, limit));
  RETURN_IF_ERROR(ElementCount({most, kRowWidth}).status());
  const KeptOutputs outputs =
      DeclareOutputs(op, most, images, /*has_offsets=*/true, /*has_index=*/false, "");
  op.AddStep({reads, outputs.buffers(), [=](const StepContext& run) {
                KeptRows<float> kept;
                for (int64_t image = 0; image < images; ++image) {
                  std::vector<boxes::DetectionLevel<float>> of_image;
                  for (const LevelInput& level : levels) {
                    const auto part = [&](Buffer buffer, int64_t width) {
                      return run.Floats(buffer).subspan(image * level.count * width,
                                                        level.count * width);
                    };
                    of_image.push_back({part(level.offsets, 4), part(level.scores, classes),
                                        run.Floats(level.anchors)});
                  }
                  boxes::AddDetections<float>(suppression, classes, of_image,
                                              run.Floats(info).data() + image * 3, &kept);
                }
                outputs.Write(run, kept);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans SuppressionPlans() {
  return {{"multiclass_nms", [](OpPlanner& op) { return PlanMulticlassNms(op, Version::k1); }},
          {"multiclass_nms2", [](OpPlanner& op) { return PlanMulticlassNms(op, Version::k2); }},
          {"multiclass_nms3", [](OpPlanner& op) { return PlanMulticlassNms(op, Version::k3); }},
          {"matrix_nms", PlanMatrixNms},
          {"locality_aware_nms", PlanLocalityAwareNms},
          {"retinanet_detection_output", PlanRetinanetDetectionOutput}};
}

}  // namespace fixpoint::executor
