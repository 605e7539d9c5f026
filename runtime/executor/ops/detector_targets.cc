// What a detector has to learn from the true boxes of images: about anchors, and about proposals. A
// run decides how many examples there are.

#include "runtime/boxes/detector_targets.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/counts.h"
#include "runtime/executor/ops/run_shape.h"

namespace fixpoint::executor {
namespace {

// The true boxes of all images in a run.
struct Truth {
  std::vector<Sequence> images;
  absl::Span<const float> boxes;
  std::vector<int64_t> is_crowd;
  std::vector<int64_t> classes;
  absl::Span<const float> info;

  boxes::ImageTruth<float> Of(size_t image) const {
    const Sequence& rows = images[image];
    const auto part = [&](const std::vector<int64_t>& all) {
      return all.empty() ? absl::Span<const int64_t>()
                         : absl::MakeConstSpan(all).subspan(rows.begin, rows.length());
    };
    return {boxes.subspan(rows.begin * 4, rows.length() * 4), part(is_crowd), part(classes),
            info.data() + image * 3};
  }
};

absl::Status CheckImages(absl::string_view slot, size_t found, int64_t images) {
  if (static_cast<int64_t>(found) == images) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is of ", found, " images; want ", images, ", as ImInfo is"));
}

// Elements of an input, one for each box, of which a run may decide how many there are.
struct OfBoxes {
  std::string slot;
  ReadShape shape;

  static absl::StatusOr<OfBoxes> Read(OpPlanner& op, absl::string_view slot, int64_t most) {
    RETURN_IF_ERROR(op.CheckSize(slot, most));
    return OfBoxes{std::string(slot), ReadShape::Of(op, slot)};
  }
  absl::Status CheckIn(const StepContext& run, int64_t boxes) const {
    const Dims dims = shape.DimsIn(run);
    ASSIGN_OR_RETURN(const int64_t count, ElementCount(dims));
    if (count == boxes) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(slot, " is ", DimsText(dims), "; want ", boxes, " elements"));
  }
};

// Integers of true boxes.
struct ReadIntegers {
  OfBoxes of;
  Counts counts;

  static absl::StatusOr<ReadIntegers> Read(OpPlanner& op, absl::string_view slot, int64_t most) {
    ASSIGN_OR_RETURN(OfBoxes of, OfBoxes::Read(op, slot, most));
    ASSIGN_OR_RETURN(const Counts counts, ReadCounts(op, slot));
    return ReadIntegers{std::move(of), counts};
  }
  void AddBuffers(std::vector<Buffer>* all) const {
    all->push_back(counts.buffer);
    for (const Buffer buffer : of.shape.buffers()) all->push_back(buffer);
  }
  absl::StatusOr<std::vector<int64_t>> In(const StepContext& run, int64_t boxes) const {
    RETURN_IF_ERROR(of.CheckIn(run, boxes));
    return counts.In(run);
  }
};

struct ReadTruth {
  ReadShape shape;
  int64_t images;
  Buffer boxes;
  ReadIntegers is_crowd;
  std::optional<ReadIntegers> classes;
  Buffer info;

  std::vector<Buffer> buffers() const {
    std::vector<Buffer> all = shape.buffers();
    all.insert(all.end(), {boxes, info});
    is_crowd.AddBuffers(&all);
    if (classes) classes->AddBuffers(&all);
    return all;
  }
  absl::StatusOr<Truth> In(const StepContext& run) const {
    Truth truth;
    const Dims dims = shape.DimsIn(run);
    ASSIGN_OR_RETURN(truth.images, SequencesOf("GtBoxes", dims, shape.LodIn(run)));
    RETURN_IF_ERROR(CheckImages("GtBoxes", truth.images.size(), images));
    truth.boxes = run.Floats(boxes);
    ASSIGN_OR_RETURN(truth.is_crowd, is_crowd.In(run, dims[0]));
    if (classes) {
      ASSIGN_OR_RETURN(truth.classes, classes->In(run, dims[0]));
    }
    truth.info = run.Floats(info);
    return truth;
  }
};

absl::Status CheckBoxes(const OpPlanner& op, absl::string_view slot) {
  const Dims& dims = op.InputDims(slot);
  if (dims.size() == 2 && dims[1] == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(slot, " is ", DimsText(dims), "; want rows of 4"));
}

// `classes_slot`: "" if they do not matter.
absl::StatusOr<ReadTruth> ReadTruthOf(OpPlanner& op, absl::string_view classes_slot) {
  RETURN_IF_ERROR(CheckBoxes(op, "GtBoxes"));
  const int64_t count = op.InputDims("GtBoxes")[0];
  ReadTruth truth{ReadShape::Of(op, "GtBoxes"), 0, Buffer(), {}, std::nullopt, Buffer()};
  const Dims& info = op.InputDims("ImInfo");
  truth.images = info.empty() ? 0 : info[0];
  RETURN_IF_ERROR(op.CheckDims("ImInfo", {truth.images, 3}));
  if (!truth.shape.decided) {
    ASSIGN_OR_RETURN(const std::vector<Sequence> images,
                     SequencesOf("GtBoxes", truth.shape.most, truth.shape.lod));
    RETURN_IF_ERROR(CheckImages("GtBoxes", images.size(), truth.images));
  }
  ASSIGN_OR_RETURN(truth.boxes, op.ReadFloats("GtBoxes"));
  ASSIGN_OR_RETURN(truth.is_crowd, ReadIntegers::Read(op, "IsCrowd", count));
  ASSIGN_OR_RETURN(truth.info, op.ReadFloats("ImInfo"));
  if (classes_slot.empty()) return truth;
  ASSIGN_OR_RETURN(truth.classes, ReadIntegers::Read(op, classes_slot, count));
  return truth;
}

// An output of rows that offsets cut into images.
struct CutOutput {
  Buffer buffer;
  RunShape shape;
  Dims row;  // the extents of one

  template <typename T, typename From>
  void Write(const StepContext& run, const std::vector<From>& values,
             const std::vector<int64_t>& offsets) const {
    if (row.empty()) {
      WriteRows<T>(run, shape, {offsets.back()}, values, buffer);
    } else {
      WriteRows<T>(run, shape, {offsets.back(), row[0]}, values, buffer);
    }
    DecideOffsets(run, shape, offsets);
  }
};

// Adds what is written to `writes`.
CutOutput Declare(OpPlanner& op, absl::string_view slot, VarType::Type dtype, const Dims& most,
                  int64_t images, std::vector<Buffer>* writes) {
  CutOutput output;
  output.buffer = op.WriteAs(slot, {dtype, most});
  output.shape = op.DecideShape(slot, {images + 1});
  output.row = Dims(most.begin() + 1, most.end());
  writes->push_back(output.buffer);
  for (const Buffer buffer : output.shape.buffers()) writes->push_back(buffer);
  return output;
}

// Numbers of the op, one after the other.
boxes::DrawUniform DrawingFrom(const RandomStream& random) {
  return [random, next = uint64_t{0}]() mutable { return random.Uniform(next++); };
}

// RetinaNet's anchors learn classes, and all of them count.
absl::Status PlanAnchorTargets(OpPlanner& op, bool is_retinanet) {
  ASSIGN_OR_RETURN(const boxes::AnchorTargeting targeting,
                   boxes::AnchorTargetingOf(op.attributes()));
  RETURN_IF_ERROR(CheckBoxes(op, "Anchor"));
  const bool draws = !is_retinanet && op.attributes().Bool("use_random");
  ASSIGN_OR_RETURN(const ReadTruth truth, ReadTruthOf(op, is_retinanet ? "GtLabels" : ""));
  ASSIGN_OR_RETURN(const Buffer anchors, op.ReadFloats("Anchor"));
  const int64_t images = truth.images;
  ASSIGN_OR_RETURN(const int64_t most,
                   ElementCount({images, targeting.MostOf(op.InputDims("Anchor")[0])}));
  RETURN_IF_ERROR(ElementCount({most, 4}).status());
  std::vector<Buffer> reads = truth.buffers();
  reads.push_back(anchors);
  std::vector<Buffer> writes;
  const auto declare = [&](absl::string_view slot, VarType::Type dtype, const Dims& dims) {
    return Declare(op, slot, dtype, dims, images, &writes);
  };
  const CutOutput locations = declare("LocationIndex", VarType::INT32, {most});
  const CutOutput scores = declare("ScoreIndex", VarType::INT32, {most});
  const CutOutput offsets = declare("TargetBBox", VarType::FP32, {most, 4});
  const CutOutput labels = declare("TargetLabel", VarType::INT32, {most, 1});
  const CutOutput weights = declare("BBoxInsideWeight", VarType::FP32, {most, 4});
  std::optional<Buffer> objects;
  if (is_retinanet) {
    objects = op.WriteAs("ForegroundNumber", {VarType::INT32, {images, 1}});
    LoD each = {{}};
    for (int64_t i = 0; i <= images; ++i) each[0].push_back(static_cast<uint64_t>(i));
    op.CutOutput("ForegroundNumber", std::move(each));
    writes.push_back(*objects);
  }
  StepKernel step{reads, writes, [=, number = op.number()](const StepContext& run) -> absl::Status {
                    ASSIGN_OR_RETURN(const Truth found, truth.In(run));
                    boxes::DrawUniform draw;
                    if (draws) draw = DrawingFrom(run.Random(number, /*seed=*/0));
                    boxes::AnchorTargets<float> targets;
                    for (size_t i = 0; i < found.images.size(); ++i) {
                      boxes::AddAnchorTargets<float>(targeting, run.Floats(anchors), found.Of(i),
                                                     draw, &targets);
                    }
                    locations.Write<int32_t>(run, targets.locations, targets.location_offsets);
                    scores.Write<int32_t>(run, targets.scores, targets.score_offsets);
                    offsets.Write<float>(run, targets.offsets, targets.location_offsets);
                    labels.Write<int32_t>(run, targets.labels, targets.score_offsets);
                    weights.Write<float>(run, targets.weights, targets.location_offsets);
                    if (objects) {
                      std::transform(targets.objects.begin(), targets.objects.end(),
                                     run.Of<int32_t>(*objects).begin(),
                                     [](int64_t count) { return static_cast<int32_t>(count); });
                    }
                    return absl::OkStatus();
                  }};
  step.in_each_run = draws;
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

// The proposals of images, of which a run may decide how many there are.
struct ReadProposals {
  ReadShape shape;
  Buffer boxes;
  std::optional<OfBoxes> overlaps_of;
  Buffer overlaps;

  std::vector<Buffer> buffers() const {
    std::vector<Buffer> all = shape.buffers();
    all.push_back(boxes);
    if (!overlaps_of) return all;
    all.push_back(overlaps);
    for (const Buffer buffer : overlaps_of->shape.buffers()) all.push_back(buffer);
    return all;
  }
  absl::StatusOr<std::vector<Sequence>> ImagesIn(const StepContext& run, int64_t images) const {
    const Dims dims = shape.DimsIn(run);
    ASSIGN_OR_RETURN(const std::vector<Sequence> found,
                     SequencesOf("RpnRois", dims, shape.LodIn(run)));
    RETURN_IF_ERROR(CheckImages("RpnRois", found.size(), images));
    if (overlaps_of) RETURN_IF_ERROR(overlaps_of->CheckIn(run, dims[0]));
    return found;
  }
};

absl::StatusOr<ReadProposals> ReadProposalsOf(OpPlanner& op, bool is_cascade) {
  RETURN_IF_ERROR(CheckBoxes(op, "RpnRois"));
  ReadProposals proposals{ReadShape::Of(op, "RpnRois"), Buffer(), std::nullopt, Buffer()};
  ASSIGN_OR_RETURN(proposals.boxes, op.ReadFloats("RpnRois"));
  if (!is_cascade) return proposals;
  if (!op.HasInput("MaxOverlap")) {
    return absl::InvalidArgumentError(
        "is_cascade_rcnn is set and there is no MaxOverlap; want the overlaps of the proposals");
  }
  ASSIGN_OR_RETURN(proposals.overlaps_of, OfBoxes::Read(op, "MaxOverlap", proposals.shape.most[0]));
  ASSIGN_OR_RETURN(proposals.overlaps, op.ReadFloats("MaxOverlap"));
  return proposals;
}

absl::Status PlanProposalLabels(OpPlanner& op) {
  ASSIGN_OR_RETURN(const boxes::ProposalLabelling labelling,
                   boxes::ProposalLabellingOf(op.attributes()));
  const bool draws = op.attributes().Bool("use_random");
  ASSIGN_OR_RETURN(const ReadTruth truth, ReadTruthOf(op, "GtClasses"));
  ASSIGN_OR_RETURN(const ReadProposals proposals, ReadProposalsOf(op, labelling.is_cascade));
  if (!proposals.shape.decided) {
    ASSIGN_OR_RETURN(const std::vector<Sequence> found,
                     SequencesOf("RpnRois", proposals.shape.most, proposals.shape.lod));
    RETURN_IF_ERROR(CheckImages("RpnRois", found.size(), truth.images));
  }
  const int64_t most = labelling.MostOf(truth.images, proposals.shape.most[0], truth.shape.most[0]);
  const int64_t width = labelling.classes * 4;
  RETURN_IF_ERROR(ElementCount({most, width}).status());
  std::vector<Buffer> reads = truth.buffers();
  for (const Buffer buffer : proposals.buffers()) reads.push_back(buffer);
  std::vector<Buffer> writes;
  const auto declare = [&](absl::string_view slot, VarType::Type dtype, const Dims& dims) {
    return Declare(op, slot, dtype, dims, truth.images, &writes);
  };
  const CutOutput rois = declare("Rois", VarType::FP32, {most, 4});
  const CutOutput classes = declare("LabelsInt32", VarType::INT32, {most, 1});
  const CutOutput offsets = declare("BboxTargets", VarType::FP32, {most, width});
  const CutOutput inside = declare("BboxInsideWeights", VarType::FP32, {most, width});
  const CutOutput outside = declare("BboxOutsideWeights", VarType::FP32, {most, width});
  std::optional<CutOutput> overlaps;
  if (op.era() == Era::kPaddle2 && op.OutputCount("MaxOverlapWithGT") > 0) {
    overlaps = declare("MaxOverlapWithGT", VarType::FP32, {most});
  }
  StepKernel step{
      reads, writes, [=, number = op.number()](const StepContext& run) -> absl::Status {
        ASSIGN_OR_RETURN(const Truth found, truth.In(run));
        ASSIGN_OR_RETURN(const std::vector<Sequence> images, proposals.ImagesIn(run, truth.images));
        boxes::DrawUniform draw;
        if (draws) draw = DrawingFrom(run.Random(number, /*seed=*/0));
        boxes::ProposalLabels<float> labels;
        for (size_t i = 0; i < images.size(); ++i) {
          const auto part = [&](Buffer buffer, int64_t row) {
            return run.Floats(buffer).subspan(images[i].begin * row, images[i].length() * row);
          };
          RETURN_IF_ERROR(boxes::AddProposalLabels<float>(
              labelling, part(proposals.boxes, 4),
              proposals.overlaps_of ? part(proposals.overlaps, 1) : absl::Span<const float>(),
              found.Of(i), draw, &labels));
        }
        rois.Write<float>(run, labels.boxes, labels.row_offsets);
        classes.Write<int32_t>(run, labels.labels, labels.row_offsets);
        offsets.Write<float>(run, labels.offsets, labels.row_offsets);
        inside.Write<float>(run, labels.weights, labels.row_offsets);
        outside.Write<float>(run, labels.weights, labels.row_offsets);
        if (overlaps) overlaps->Write<float>(run, labels.overlaps, labels.row_offsets);
        return absl::OkStatus();
      }};
  step.in_each_run = draws;
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

}  // namespace

OpPlans DetectorTargetsPlans() {
  return {{"rpn_target_assign",
           [](OpPlanner& op) { return PlanAnchorTargets(op, /*is_retinanet=*/false); }},
          {"retinanet_target_assign",
           [](OpPlanner& op) { return PlanAnchorTargets(op, /*is_retinanet=*/true); }},
          {"generate_proposal_labels", PlanProposalLabels}};
}

}  // namespace fixpoint::executor
