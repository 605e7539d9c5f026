#include "runtime/executor/ops/image_of_region.h"

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/boxes/regions.h"
#include "runtime/executor/ops/run_shape.h"

namespace fixpoint::executor {
namespace {

bool IsThere(const OpPlanner& op, absl::string_view slot, int index) {
  return op.HasInputSlot(slot) && op.InputCount(slot) > index;
}

}  // namespace

int64_t ImageOfRegion::CountIn(const StepContext& run) const {
  return shape ? run.Of<int64_t>(shape->dims)[0] : most;
}

absl::StatusOr<std::vector<int64_t>> ImageOfRegion::In(const StepContext& run) const {
  const int64_t regions = CountIn(run);
  if (counts) return boxes::ImagesFromCounts("the counts of images", counts->In(run), regions);
  if (offset_tensor) return boxes::ImagesFromOffsets("RoisLod", offset_tensor->In(run), regions);
  if (!shape || !shape->has_offsets()) return boxes::ImagesFromOffsets(slot, offsets, regions);
  return boxes::ImagesFromOffsets(slot, OffsetsIn(run, *shape, shape->offsets.size() - 1), regions);
}

absl::StatusOr<ImageOfRegion> ReadImageOfRegion(OpPlanner& op, absl::string_view regions_slot,
                                                std::vector<Buffer>* reads, int index,
                                                absl::string_view counts_slot) {
  ImageOfRegion images;
  images.slot = std::string(regions_slot);
  images.most = op.InputDims(regions_slot, index)[0];
  if (const RunShape* shape = op.TakeRunShape(regions_slot, index); shape != nullptr) {
    images.shape = *shape;
    for (const Buffer buffer : shape->buffers()) reads->push_back(buffer);
  }
  if (IsThere(op, counts_slot, index)) {
    ASSIGN_OR_RETURN(images.counts, ReadCounts(op, counts_slot, index));
    images.image_count = images.counts->buffer.size;
    reads->push_back(images.counts->buffer);
    return images;
  }
  if (IsThere(op, "RoisLod", 0)) {
    ASSIGN_OR_RETURN(images.offset_tensor, ReadCounts(op, "RoisLod"));
    images.image_count = images.offset_tensor->buffer.size - 1;
    reads->push_back(images.offset_tensor->buffer);
    return images;
  }
  if (images.shape && images.shape->has_offsets()) {
    images.image_count = images.shape->offsets.back().size - 2;
    return images;
  }
  const LoD& lod = op.builder().LodOf(op.InputValue(regions_slot, index));
  if (!lod.empty()) images.offsets.assign(lod.back().begin(), lod.back().end());
  images.image_count = static_cast<int64_t>(images.offsets.size()) - 1;
  // What is known before a run is checked before it.
  if (!images.shape) {
    RETURN_IF_ERROR(boxes::ImagesFromOffsets(regions_slot, images.offsets, images.most).status());
  }
  return images;
}

}  // namespace fixpoint::executor
