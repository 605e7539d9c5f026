// What a detector has to learn from the true boxes of images: about anchors, and about proposals.

#include "runtime/boxes/detector_targets.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/elements.h"

namespace fixpoint::reference {
namespace {

// The true boxes of all images.
template <typename T>
struct Truth {
  std::vector<Sequence> images;
  std::vector<T> boxes;
  std::vector<int64_t> is_crowd;
  std::vector<int64_t> classes;
  std::vector<T> info;

  boxes::ImageTruth<T> Of(size_t image) const {
    const auto [begin, end] = std::pair(images[image].begin, images[image].end);
    const auto part = [begin = begin, count = end - begin](const std::vector<int64_t>& all) {
      return all.empty() ? absl::Span<const int64_t>()
                         : absl::MakeConstSpan(all).subspan(begin, count);
    };
    return {absl::MakeConstSpan(boxes).subspan(begin * 4, (end - begin) * 4), part(is_crowd),
            part(classes), info.data() + image * 3};
  }
};

// `classes_slot`: "" if they do not matter.
template <typename T>
absl::StatusOr<Truth<T>> TruthOf(const OpRun& op, absl::string_view classes_slot) {
  RETURN_IF_ERROR(op.CheckRank("GtBoxes", 2));
  const Array& boxes = op.Input("GtBoxes");
  const int64_t count = boxes.dims[0];
  RETURN_IF_ERROR(op.CheckDims("GtBoxes", Dims{count, 4}));
  RETURN_IF_ERROR(op.CheckSize("IsCrowd", count));
  Truth<T> truth;
  ASSIGN_OR_RETURN(truth.images, SequencesOf("GtBoxes", boxes.dims, boxes.lod));
  RETURN_IF_ERROR(op.CheckDims("ImInfo", Dims{static_cast<int64_t>(truth.images.size()), 3}));
  truth.boxes = ElementsOf<T>(boxes);
  truth.is_crowd = IntegersOf(op.Input("IsCrowd"));
  truth.info = ElementsOf<T>(op.Input("ImInfo"));
  if (classes_slot.empty()) return truth;
  RETURN_IF_ERROR(op.CheckSize(classes_slot, count));
  truth.classes = IntegersOf(op.Input(classes_slot));
  return truth;
}

// Numbers of the op, one after the other, if it draws some.
boxes::DrawUniform DrawingOf(const OpRun& op, bool draws) {
  if (!draws) return nullptr;
  return [random = op.Random(/*seed=*/0), next = uint64_t{0}]() mutable {
    return random.Uniform(next++);
  };
}

// Sets an output of rows that offsets cut into images.
template <typename T>
void SetRows(OpRun& op, absl::string_view slot, VarType::Type dtype, const Dims& dims,
             const std::vector<T>& values, const std::vector<int64_t>& offsets) {
  Array out(dtype, dims);
  out.values.assign(values.begin(), values.end());
  out.lod = {{offsets.begin(), offsets.end()}};
  op.SetCutOutput(slot, std::move(out));
}

// RetinaNet's anchors learn classes, and all of them count.
absl::Status AssignAnchors(OpRun& op, bool is_retinanet) {
  ASSIGN_OR_RETURN(const boxes::AnchorTargeting targeting,
                   boxes::AnchorTargetingOf(op.attributes()));
  RETURN_IF_ERROR(op.CheckRank("Anchor", 2));
  const Array& anchors = op.Input("Anchor");
  RETURN_IF_ERROR(op.CheckDims("Anchor", Dims{anchors.dims[0], 4}));
  return InTypeOf(anchors, [&](auto element) -> absl::Status {
    using T = decltype(element);
    ASSIGN_OR_RETURN(const Truth<T> truth, TruthOf<T>(op, is_retinanet ? "GtLabels" : ""));
    const boxes::DrawUniform draw = DrawingOf(op, !is_retinanet && op.Bool("use_random"));
    const std::vector<T> elements = ElementsOf<T>(anchors);
    boxes::AnchorTargets<T> targets;
    for (size_t i = 0; i < truth.images.size(); ++i) {
      boxes::AddAnchorTargets<T>(targeting, elements, truth.Of(i), draw, &targets);
    }
    const auto locations = static_cast<int64_t>(targets.locations.size());
    const auto scores = static_cast<int64_t>(targets.scores.size());
    SetRows(op, "LocationIndex", VarType::INT32, {locations}, targets.locations,
            targets.location_offsets);
    SetRows(op, "ScoreIndex", VarType::INT32, {scores}, targets.scores, targets.score_offsets);
    SetRows(op, "TargetBBox", anchors.dtype, {locations, 4}, targets.offsets,
            targets.location_offsets);
    SetRows(op, "TargetLabel", VarType::INT32, {scores, 1}, targets.labels, targets.score_offsets);
    SetRows(op, "BBoxInsideWeight", anchors.dtype, {locations, 4}, targets.weights,
            targets.location_offsets);
    if (!is_retinanet) return absl::OkStatus();
    std::vector<int64_t> each;
    for (size_t i = 0; i <= truth.images.size(); ++i) each.push_back(static_cast<int64_t>(i));
    SetRows(op, "ForegroundNumber", VarType::INT32, {each.back(), 1}, targets.objects, each);
    return absl::OkStatus();
  });
}

absl::Status GenerateProposalLabels(OpRun& op) {
  ASSIGN_OR_RETURN(const boxes::ProposalLabelling labelling,
                   boxes::ProposalLabellingOf(op.attributes()));
  RETURN_IF_ERROR(op.CheckRank("RpnRois", 2));
  const Array& rois = op.Input("RpnRois");
  RETURN_IF_ERROR(op.CheckDims("RpnRois", Dims{rois.dims[0], 4}));
  ASSIGN_OR_RETURN(const std::vector<Sequence> images, SequencesOf("RpnRois", rois.dims, rois.lod));
  if (labelling.is_cascade) {
    if (op.FindInput("MaxOverlap") == nullptr) {
      return absl::InvalidArgumentError(
          "is_cascade_rcnn is set and there is no MaxOverlap; want the overlaps of the proposals");
    }
    RETURN_IF_ERROR(op.CheckSize("MaxOverlap", rois.dims[0]));
  }
  return InTypeOf(rois, [&](auto element) -> absl::Status {
    using T = decltype(element);
    ASSIGN_OR_RETURN(const Truth<T> truth, TruthOf<T>(op, "GtClasses"));
    if (truth.images.size() != images.size()) {
      return absl::InvalidArgumentError(absl::StrCat("RpnRois is of ", images.size(),
                                                     " images; want ", truth.images.size(),
                                                     ", as GtBoxes is"));
    }
    const boxes::DrawUniform draw = DrawingOf(op, op.Bool("use_random"));
    const std::vector<T> elements = ElementsOf<T>(rois);
    std::vector<T> overlaps;
    if (labelling.is_cascade) overlaps = ElementsOf<T>(op.Input("MaxOverlap"));
    boxes::ProposalLabels<T> labels;
    for (size_t i = 0; i < images.size(); ++i) {
      const auto part = [&](const std::vector<T>& all, int64_t width) {
        return all.empty() ? absl::Span<const T>()
                           : absl::MakeConstSpan(all).subspan(images[i].begin * width,
                                                              images[i].length() * width);
      };
      RETURN_IF_ERROR(boxes::AddProposalLabels<T>(labelling, part(elements, 4), part(overlaps, 1),
                                                  truth.Of(i), draw, &labels));
    }
    const auto rows = static_cast<int64_t>(labels.labels.size());
    const int64_t width = labelling.classes * 4;
    SetRows(op, "Rois", rois.dtype, {rows, 4}, labels.boxes, labels.row_offsets);
    SetRows(op, "LabelsInt32", VarType::INT32, {rows, 1}, labels.labels, labels.row_offsets);
    SetRows(op, "BboxTargets", rois.dtype, {rows, width}, labels.offsets, labels.row_offsets);
    for (const char* slot : {"BboxInsideWeights", "BboxOutsideWeights"}) {
      SetRows(op, slot, rois.dtype, {rows, width}, labels.weights, labels.row_offsets);
    }
    if (op.era() == Era::kPaddle2) {
      SetRows(op, "MaxOverlapWithGT", rois.dtype, {rows}, labels.overlaps, labels.row_offsets);
    }
    return absl::OkStatus();
  });
}

}  // namespace

Kernels DetectorTargetsKernels() {
  return {
      {"rpn_target_assign", [](OpRun& op) { return AssignAnchors(op, /*is_retinanet=*/false); }},
      {"retinanet_target_assign",
       [](OpRun& op) { return AssignAnchors(op, /*is_retinanet=*/true); }},
      {"generate_proposal_labels", GenerateProposalLabels}};
}

}  // namespace fixpoint::reference
