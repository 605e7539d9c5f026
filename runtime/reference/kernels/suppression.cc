// The best boxes of each class.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/boxes/detections.h"
#include "runtime/boxes/regions.h"
#include "runtime/boxes/suppression_shape.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/elements.h"

namespace fixpoint::reference {
namespace {

using boxes::KeptRows;
using boxes::SuppressionShape;

// Counts of images in `counts_slot`, where the op has it.
template <typename T>
void SetKept(OpRun& op, const KeptRows<T>& kept, absl::string_view counts_slot, LoD lod) {
  Array out(op.Input("BBoxes").dtype, Dims{kept.size(), 6});
  out.values.assign(kept.rows.begin(), kept.rows.end());
  out.lod = lod;
  op.SetCutOutput("Out", std::move(out));
  Array index = IntegerArray({kept.size(), 1}, kept.places);
  index.lod = std::move(lod);
  op.SetCutOutput("Index", std::move(index));
  if (counts_slot.empty()) return;
  std::vector<int64_t> counts;
  for (size_t i = 0; i + 1 < kept.offsets.size(); ++i) {
    counts.push_back(kept.OfImage(static_cast<int64_t>(i)));
  }
  op.SetOutput(counts_slot, IntegerArray({static_cast<int64_t>(counts.size())}, counts));
}

// Out alone; a single -1 where nothing is kept.
template <typename T>
void SetRows(OpRun& op, VarType::Type dtype, const KeptRows<T>& kept) {
  Array out(dtype, kept.size() == 0 ? Dims{1, 1} : Dims{kept.size(), 6});
  if (kept.size() == 0) {
    out[0] = -1;
    out.lod = {{0, 1}};
  } else {
    out.values.assign(kept.rows.begin(), kept.rows.end());
    out.lod = {{kept.offsets.begin(), kept.offsets.end()}};
  }
  op.SetCutOutput("Out", std::move(out));
}

// The offsets that cut regions into images.
absl::StatusOr<std::vector<int64_t>> OffsetsOfRegions(const OpRun& op) {
  const Array& boxes = op.Input("BBoxes");
  std::vector<int64_t> offsets = {0};
  if (op.HasInputSlot("RoisNum") && op.FindInput("RoisNum") != nullptr) {
    const std::vector<int64_t> counts = IntegersOf(*op.FindInput("RoisNum"));
    RETURN_IF_ERROR(boxes::ImagesFromCounts("RoisNum", counts, boxes.dims[0]).status());
    for (const int64_t count : counts) offsets.push_back(offsets.back() + count);
    return offsets;
  }
  ASSIGN_OR_RETURN(const std::vector<Sequence> images,
                   SequencesOf("BBoxes", boxes.dims, boxes.lod));
  for (const Sequence& image : images) offsets.push_back(image.end);
  return offsets;
}

enum class Version { k1, k2, k3 };

absl::Status MulticlassNms(OpRun& op, Version version) {
  const Array& boxes = op.Input("BBoxes");
  const Array& scores = op.Input("Scores");
  ASSIGN_OR_RETURN(const SuppressionShape shape,
                   boxes::SuppressionShapeOf(boxes.dims, scores.dims, /*may_be_of_regions=*/true));
  std::vector<int64_t> offsets;
  if (shape.is_of_regions) {
    ASSIGN_OR_RETURN(offsets, OffsetsOfRegions(op));
  }
  return InTypeOf(boxes, [&](auto element) {
    using T = decltype(element);
    const KeptRows<T> kept =
        boxes::SuppressAll<T>(shape, boxes::GreedySuppressionOf(op.attributes()), offsets,
                              ElementsOf<T>(boxes), ElementsOf<T>(scores));
    if (version == Version::k3) {
      SetKept(op, kept, "NmsRoisNum", {});
      return absl::OkStatus();
    }
    const LoD lod = {{kept.offsets.begin(), kept.offsets.end()}};
    if (version == Version::k2) {
      SetKept(op, kept, "", lod);
      return absl::OkStatus();
    }
    SetRows(op, boxes.dtype, kept);
    return absl::OkStatus();
  });
}

absl::Status MatrixNms(OpRun& op) {
  const Array& boxes = op.Input("BBoxes");
  const Array& scores = op.Input("Scores");
  ASSIGN_OR_RETURN(const SuppressionShape shape,
                   boxes::SuppressionShapeOf(boxes.dims, scores.dims, /*may_be_of_regions=*/false));
  InTypeOf(boxes, [&](auto element) {
    using T = decltype(element);
    SetKept(op,
            boxes::SuppressAllByMatrix<T>(shape, boxes::MatrixSuppressionOf(op.attributes()),
                                          ElementsOf<T>(boxes), ElementsOf<T>(scores)),
            "RoisNum", {});
  });
  return absl::OkStatus();
}

absl::Status LocalityAwareNms(OpRun& op) {
  const Array& boxes = op.Input("BBoxes");
  const Array& scores = op.Input("Scores");
  ASSIGN_OR_RETURN(const SuppressionShape shape,
                   boxes::SuppressionShapeOf(boxes.dims, scores.dims, /*may_be_of_regions=*/false));
  InTypeOf(boxes, [&](auto element) {
    using T = decltype(element);
    SetRows(op, boxes.dtype,
            boxes::MergeAndSuppressAll<T>(shape, boxes::GreedySuppressionOf(op.attributes()),
                                          ElementsOf<T>(boxes), ElementsOf<T>(scores)));
  });
  return absl::OkStatus();
}

absl::Status CheckDims(absl::string_view slot, size_t level, const Array& found, DimsView wanted) {
  if (DimsView(found.dims) == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, "[", level, "] is ", DimsText(found.dims), "; want ", DimsText(wanted)));
}

absl::Status RetinanetDetectionOutput(OpRun& op) {
  const std::vector<const Array*> boxes = op.Inputs("BBoxes");
  const std::vector<const Array*> scores = op.Inputs("Scores");
  const std::vector<const Array*> anchors = op.Inputs("Anchors");
  if (boxes.empty() || scores.size() != boxes.size() || anchors.size() != boxes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", boxes.size(), " inputs BBoxes, ",
                                                   scores.size(), " Scores and ", anchors.size(),
                                                   " Anchors; want one of each for each level"));
  }
  if (scores[0]->rank() != 3) {
    return absl::InvalidArgumentError(absl::StrCat("Scores[0] is ", DimsText(scores[0]->dims),
                                                   "; want [images, boxes, classes]"));
  }
  const int64_t images = scores[0]->dims[0];
  const int64_t classes = scores[0]->dims[2];
  for (size_t i = 0; i < boxes.size(); ++i) {
    const int64_t count = scores[i]->rank() == 3 ? scores[i]->dims[1] : 0;
    RETURN_IF_ERROR(CheckDims("Scores", i, *scores[i], Dims{images, count, classes}));
    RETURN_IF_ERROR(CheckDims("BBoxes", i, *boxes[i], Dims{images, count, 4}));
    RETURN_IF_ERROR(CheckDims("Anchors", i, *anchors[i], Dims{count, 4}));
  }
  RETURN_IF_ERROR(op.CheckDims("ImInfo", Dims{images, 3}));
  return InTypeOf(*boxes[0], [&](auto element) {
    using T = decltype(element);
    std::vector<std::vector<T>> elements;
    for (const std::vector<const Array*>& slot : {boxes, scores, anchors}) {
      for (const Array* array : slot) elements.push_back(ElementsOf<T>(*array));
    }
    const std::vector<T> info = ElementsOf<T>(op.Input("ImInfo"));
    KeptRows<T> kept;
    for (int64_t image = 0; image < images; ++image) {
      std::vector<boxes::DetectionLevel<T>> levels;
      for (size_t i = 0; i < boxes.size(); ++i) {
        const int64_t count = boxes[i]->dims[1];
        const auto of_image = [&](const std::vector<T>& all, int64_t width) {
          return absl::MakeConstSpan(all).subspan(image * count * width, count * width);
        };
        levels.push_back({of_image(elements[i], 4), of_image(elements[boxes.size() + i], classes),
                          elements[2 * boxes.size() + i]});
      }
      boxes::AddDetections<T>(boxes::DetectionLimitsOf(op.attributes()), classes, levels,
                              info.data() + image * 3, &kept);
    }
    Array out(boxes[0]->dtype, Dims{kept.size(), 6});
    out.values.assign(kept.rows.begin(), kept.rows.end());
    out.lod = {{kept.offsets.begin(), kept.offsets.end()}};
    op.SetCutOutput("Out", std::move(out));
    return absl::OkStatus();
  });
}

}  // namespace

Kernels SuppressionKernels() {
  return {{"multiclass_nms", [](OpRun& op) { return MulticlassNms(op, Version::k1); }},
          {"multiclass_nms2", [](OpRun& op) { return MulticlassNms(op, Version::k2); }},
          {"multiclass_nms3", [](OpRun& op) { return MulticlassNms(op, Version::k3); }},
          {"matrix_nms", MatrixNms},
          {"locality_aware_nms", LocalityAwareNms},
          {"retinanet_detection_output", RetinanetDetectionOutput}};
}

}  // namespace fixpoint::reference
