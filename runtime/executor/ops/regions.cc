// Regions of images, pooled to maps of one size.

#include "runtime/boxes/regions.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/image_of_region.h"
#include "runtime/executor/ops/run_shape.h"
#include "runtime/kernels/aligned_regions.h"

namespace fixpoint::executor {
namespace {

using boxes::RegionPooling;

constexpr char kCountsOfIntegral[] = "BatchRoINums";

// What both kinds of pooling work on.
struct Regions {
  RegionPooling pooling;
  ImageOfRegion images;
  Buffer corners;
  int64_t image_count = 0;  // of X
  Dims pooled_dims;

  // The image of each region that there is. Error: X has no such image.
  absl::StatusOr<std::vector<int64_t>> ImagesIn(const StepContext& run) const {
    ASSIGN_OR_RETURN(std::vector<int64_t> found, images.In(run));
    if (found.empty() || found.back() < image_count) return found;
    return absl::InvalidArgumentError(absl::StrCat("there are regions of image ", found.back(),
                                                   " and X has ", image_count,
                                                   "; want images of X"));
  }
};

absl::StatusOr<Regions> ReadRegions(OpPlanner& op, std::vector<Buffer>* reads,
                                    absl::string_view counts_slot = "RoisNum") {
  Regions regions;
  const Dims& x = op.InputDims("X");
  const Dims& rois = op.InputDims("ROIs");
  ASSIGN_OR_RETURN(regions.pooling, boxes::RegionPoolingOf(op.attributes(), x));
  if (rois.size() != 2 || rois[1] != 4) {
    return absl::InvalidArgumentError(absl::StrCat("ROIs is ", DimsText(rois), "; want rows of 4"));
  }
  ASSIGN_OR_RETURN(regions.images, ReadImageOfRegion(op, "ROIs", reads, 0, counts_slot));
  ASSIGN_OR_RETURN(regions.corners, op.ReadFloats("ROIs"));
  reads->push_back(regions.corners);
  regions.image_count = x[0];
  regions.pooled_dims = {rois[0], regions.pooling.pooled_channels, regions.pooling.pooled_height,
                         regions.pooling.pooled_width};
  RETURN_IF_ERROR(ElementCount(regions.pooled_dims).status());
  return regions;
}

template <typename T>
absl::Span<T> Part(absl::Span<T> all, int64_t i, int64_t size) {
  return all.subspan(i * size, size);
}

// Plans the gradient of an average, which `backward` adds to dimage.
absl::Status PlanAverageGradient(OpPlanner& op,
                                 void (*backward)(const RegionPooling&, const float*,
                                                  absl::Span<const float>, absl::Span<float>)) {
  std::vector<Buffer> reads;
  ASSIGN_OR_RETURN(const Regions regions, ReadRegions(op, &reads));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", regions.pooled_dims));
  op.TakeRunShape("Out@GRAD");
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  reads.push_back(dout);
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({reads, {dx}, [=](const StepContext& run) -> absl::Status {
                ASSIGN_OR_RETURN(const std::vector<int64_t> images, regions.ImagesIn(run));
                const RegionPooling& pooling = regions.pooling;
                const absl::Span<float> dimages = run.Floats(dx);
                std::fill(dimages.begin(), dimages.end(), 0.0f);
                for (size_t i = 0; i < images.size(); ++i) {
                  const auto region = static_cast<int64_t>(i);
                  backward(pooling, run.Floats(regions.corners).data() + i * 4,
                           Part(run.Floats(dout), region, pooling.pooled_size()),
                           Part(dimages, images[i], pooling.image_size()));
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Plans averages of the regions that a run has, which `pool` finds.
absl::Status PlanAverage(OpPlanner& op,
                         void (*pool)(const RegionPooling&, absl::Span<const float>,
                                      absl::Span<const int64_t>, absl::Span<const float>,
                                      absl::Span<float>),
                         absl::string_view counts_slot = "RoisNum") {
  std::vector<Buffer> reads;
  ASSIGN_OR_RETURN(const Regions regions, ReadRegions(op, &reads, counts_slot));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  reads.push_back(x);
  const Buffer out = op.WriteAs("Out", {VarType::FP32, regions.pooled_dims});
  op.KeepRows("ROIs", "Out");
  op.AddStep({reads, {out}, [=](const StepContext& run) -> absl::Status {
                ASSIGN_OR_RETURN(const std::vector<int64_t> images, regions.ImagesIn(run));
                const auto count = static_cast<int64_t>(images.size());
                const absl::Span<float> pooled = run.Floats(out);
                pool(regions.pooling, run.Floats(x), images, run.Floats(regions.corners), pooled);
                std::fill(pooled.begin() + count * regions.pooling.pooled_size(), pooled.end(),
                          0.0f);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// `pool` of each region, on one thread.
template <void (*pool)(const RegionPooling&, absl::Span<const float>, const float*,
                       absl::Span<float>)>
void PoolEach(const RegionPooling& pooling, absl::Span<const float> x,
              absl::Span<const int64_t> images, absl::Span<const float> corners,
              absl::Span<float> pooled) {
  for (size_t i = 0; i < images.size(); ++i) {
    pool(pooling, Part(x, images[i], pooling.image_size()), corners.data() + i * 4,
         Part(pooled, static_cast<int64_t>(i), pooling.pooled_size()));
  }
}

absl::Status PlanIntegralGradient(OpPlanner& op) {
  std::vector<Buffer> reads;
  ASSIGN_OR_RETURN(const Regions regions, ReadRegions(op, &reads, kCountsOfIntegral));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", regions.pooled_dims));
  for (const char* slot : {"Out", "Out@GRAD"}) op.TakeRunShape(slot);
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  reads.insert(reads.end(), {x, dout});
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  const Buffer drois = op.WriteAs("ROIs@GRAD", op.InputType("ROIs"));
  op.KeepRows("ROIs", "ROIs@GRAD");
  op.AddStep({reads, {dx, drois}, [=](const StepContext& run) -> absl::Status {
                ASSIGN_OR_RETURN(const std::vector<int64_t> images, regions.ImagesIn(run));
                const RegionPooling& pooling = regions.pooling;
                const absl::Span<float> dimages = run.Floats(dx);
                const absl::Span<float> dcorners = run.Floats(drois);
                std::fill(dimages.begin(), dimages.end(), 0.0f);
                std::fill(dcorners.begin(), dcorners.end(), 0.0f);
                for (size_t i = 0; i < images.size(); ++i) {
                  const auto region = static_cast<int64_t>(i);
                  const float* const corners = run.Floats(regions.corners).data() + i * 4;
                  const absl::Span<const float> of_region =
                      Part(run.Floats(dout), region, pooling.pooled_size());
                  boxes::IntegrateRegionBackward<float>(
                      pooling, corners, of_region, Part(dimages, images[i], pooling.image_size()));
                  boxes::IntegrateRegionBackwardCorners<float>(
                      pooling, Part(run.Floats(x), images[i], pooling.image_size()), corners,
                      of_region, Part(dcorners, region, 4));
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanRoiPool(OpPlanner& op) {
  std::vector<Buffer> reads;
  ASSIGN_OR_RETURN(const Regions regions, ReadRegions(op, &reads));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  reads.push_back(x);
  const Buffer out = op.WriteAs("Out", {VarType::FP32, regions.pooled_dims});
  const Buffer argmax = op.WriteAs("Argmax", {VarType::INT64, regions.pooled_dims});
  op.KeepRows("ROIs", "Out");
  op.KeepRows("ROIs", "Argmax");
  op.AddStep({reads, {out, argmax}, [=](const StepContext& run) -> absl::Status {
                ASSIGN_OR_RETURN(const std::vector<int64_t> images, regions.ImagesIn(run));
                const RegionPooling& pooling = regions.pooling;
                const int64_t size = pooling.pooled_size();
                const absl::Span<float> pooled = run.Floats(out);
                const absl::Span<int64_t> places = run.Of<int64_t>(argmax);
                for (size_t i = 0; i < images.size(); ++i) {
                  const auto region = static_cast<int64_t>(i);
                  boxes::PoolRegion<float>(pooling,
                                           Part(run.Floats(x), images[i], pooling.image_size()),
                                           run.Floats(regions.corners).data() + i * 4,
                                           Part(pooled, region, size), Part(places, region, size));
                }
                const int64_t written = static_cast<int64_t>(images.size()) * size;
                std::fill(pooled.begin() + written, pooled.end(), 0.0f);
                std::fill(places.begin() + written, places.end(), -1);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanRoiPoolGradient(OpPlanner& op) {
  std::vector<Buffer> reads;
  ASSIGN_OR_RETURN(const Regions regions, ReadRegions(op, &reads));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", regions.pooled_dims));
  RETURN_IF_ERROR(op.CheckDims("Argmax", regions.pooled_dims));
  op.TakeRunShape("Out@GRAD");
  op.TakeRunShape("Argmax");
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  ASSIGN_OR_RETURN(const Buffer argmax, op.Read("Argmax", VarType::INT64));
  reads.insert(reads.end(), {dout, argmax});
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({reads, {dx}, [=](const StepContext& run) -> absl::Status {
                ASSIGN_OR_RETURN(const std::vector<int64_t> images, regions.ImagesIn(run));
                const RegionPooling& pooling = regions.pooling;
                const int64_t size = pooling.pooled_size();
                const absl::Span<float> dimages = run.Floats(dx);
                std::fill(dimages.begin(), dimages.end(), 0.0f);
                for (size_t i = 0; i < images.size(); ++i) {
                  const auto region = static_cast<int64_t>(i);
                  RETURN_IF_ERROR(boxes::PoolRegionBackward<float>(
                      pooling, Part(run.Of<int64_t>(argmax), region, size),
                      Part(run.Floats(dout), region, size),
                      Part(dimages, images[i], pooling.image_size())));
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans RegionsPlans() {
  return {
      {"roi_align", [](OpPlanner& op) { return PlanAverage(op, kernels::AlignRegions); }},
      {"roi_align_grad",
       [](OpPlanner& op) { return PlanAverageGradient(op, boxes::AlignRegionBackward<float>); }},
      {"psroi_pool",
       [](OpPlanner& op) { return PlanAverage(op, PoolEach<boxes::AverageOwnChannels<float>>); }},
      {"psroi_pool_grad",
       [](OpPlanner& op) {
         return PlanAverageGradient(op, boxes::AverageOwnChannelsBackward<float>);
       }},
      {"prroi_pool",
       [](OpPlanner& op) {
         return PlanAverage(op, PoolEach<boxes::IntegrateRegion<float>>, kCountsOfIntegral);
       }},
      {"prroi_pool_grad", PlanIntegralGradient},
      {"roi_pool", PlanRoiPool},
      {"roi_pool_grad", PlanRoiPoolGradient}};
}

}  // namespace fixpoint::executor
