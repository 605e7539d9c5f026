// The best boxes of each class.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
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
    if (kept.size() == 0) {
      Array none(boxes.dtype, Dims{1, 1});
      none[0] = -1;
      none.lod = {{0, 1}};
      op.SetCutOutput("Out", std::move(none));
      return absl::OkStatus();
    }
    Array out(boxes.dtype, Dims{kept.size(), 6});
    out.values.assign(kept.rows.begin(), kept.rows.end());
    out.lod = lod;
    op.SetCutOutput("Out", std::move(out));
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

}  // namespace

Kernels SuppressionKernels() {
  return {{"multiclass_nms", [](OpRun& op) { return MulticlassNms(op, Version::k1); }},
          {"multiclass_nms2", [](OpRun& op) { return MulticlassNms(op, Version::k2); }},
          {"multiclass_nms3", [](OpRun& op) { return MulticlassNms(op, Version::k3); }},
          {"matrix_nms", MatrixNms}};
}

}  // namespace fixpoint::reference
