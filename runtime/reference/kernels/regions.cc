// Regions of images: pooled to maps of one size, proposed, and spread over levels of features.

#include "runtime/boxes/regions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/boxes/proposals.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/elements.h"

namespace fixpoint::reference {
namespace {

const Array* FindIfThere(const OpRun& op, absl::string_view slot) {
  return op.HasInputSlot(slot) ? op.FindInput(slot) : nullptr;
}

// Offsets of the last level as integers.
std::vector<int64_t> OffsetsOf(const Array& rows) {
  if (rows.lod.empty()) return {};
  return {rows.lod.back().begin(), rows.lod.back().end()};
}

// The image of each region, from counts, offsets in a tensor, or those of ROIs.
absl::StatusOr<std::vector<int64_t>> ImagesOf(const OpRun& op, const Array& rois,
                                              absl::string_view rois_slot) {
  for (const char* slot : {"RoisNum", "BatchRoINums"}) {
    const Array* counts = FindIfThere(op, slot);
    if (counts != nullptr) {
      return boxes::ImagesFromCounts(slot, IntegersOf(*counts), rois.dims[0]);
    }
  }
  if (const Array* offsets = FindIfThere(op, "RoisLod"); offsets != nullptr) {
    return boxes::ImagesFromOffsets("RoisLod", IntegersOf(*offsets), rois.dims[0]);
  }
  return boxes::ImagesFromOffsets(rois_slot, OffsetsOf(rois), rois.dims[0]);
}

// What both kinds of pooling work on.
struct Regions {
  boxes::RegionPooling pooling;
  std::vector<int64_t> images;
  std::vector<float> corners;
  Dims pooled_dims;

  int64_t count() const { return static_cast<int64_t>(images.size()); }
  const float* Corners(int64_t i) const { return &corners[i * 4]; }
  template <typename Values>
  auto Image(int64_t region, Values& values) const {
    return absl::MakeSpan(values).subspan(images[region] * pooling.image_size(),
                                          pooling.image_size());
  }
  template <typename Values>
  auto Pooled(int64_t region, Values& values) const {
    return absl::MakeSpan(values).subspan(region * pooling.pooled_size(), pooling.pooled_size());
  }
};

absl::StatusOr<Regions> RegionsOf(const OpRun& op) {
  Regions regions;
  const Array& x = op.Input("X");
  const Array& rois = op.Input("ROIs");
  ASSIGN_OR_RETURN(regions.pooling, boxes::RegionPoolingOf(op.attributes(), x.dims));
  RETURN_IF_ERROR(op.CheckRank("ROIs", 2));
  RETURN_IF_ERROR(op.CheckDims("ROIs", Dims{rois.dims[0], 4}));
  ASSIGN_OR_RETURN(regions.images, ImagesOf(op, rois, "ROIs"));
  if (!regions.images.empty() && regions.images.back() >= x.dims[0]) {
    return absl::InvalidArgumentError(absl::StrCat("there are regions of image ",
                                                   regions.images.back(), " and X is ",
                                                   DimsText(x.dims), "; want images of X"));
  }
  regions.corners = ElementsOf<float>(rois);
  regions.pooled_dims = {rois.dims[0], regions.pooling.pooled_channels,
                         regions.pooling.pooled_height, regions.pooling.pooled_width};
  return regions;
}

using Pool = void (*)(const boxes::RegionPooling&, absl::Span<const double>, const float*,
                      absl::Span<double>);
using PoolBackward = void (*)(const boxes::RegionPooling&, const float*, absl::Span<const double>,
                              absl::Span<double>);

template <Pool pool>
absl::Status Average(OpRun& op) {
  ASSIGN_OR_RETURN(const Regions regions, RegionsOf(op));
  Array x = op.Input("X");
  Array out(x.dtype, regions.pooled_dims);
  for (int64_t i = 0; i < regions.count(); ++i) {
    pool(regions.pooling, regions.Image(i, x.values), regions.Corners(i),
         regions.Pooled(i, out.values));
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// `backward` adds to the gradient of an image.
template <PoolBackward backward>
absl::Status AverageGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Regions regions, RegionsOf(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", regions.pooled_dims));
  Array dout = op.Input("Out@GRAD");
  Array dx(op.Input("X").dtype, op.Input("X").dims);
  for (int64_t i = 0; i < regions.count(); ++i) {
    backward(regions.pooling, regions.Corners(i), regions.Pooled(i, dout.values),
             regions.Image(i, dx.values));
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// Corners are differentiated too, and taken as they are.
absl::Status Integral(OpRun& op) {
  ASSIGN_OR_RETURN(const Regions regions, RegionsOf(op));
  Array x = op.Input("X");
  Array out(x.dtype, regions.pooled_dims);
  for (int64_t i = 0; i < regions.count(); ++i) {
    boxes::IntegrateRegion<double>(regions.pooling, regions.Image(i, x.values),
                                   &op.Input("ROIs").values[i * 4], regions.Pooled(i, out.values));
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status IntegralGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Regions regions, RegionsOf(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", regions.pooled_dims));
  Array x = op.Input("X");
  Array dout = op.Input("Out@GRAD");
  Array dx(x.dtype, x.dims);
  Array drois(op.Input("ROIs").dtype, op.Input("ROIs").dims);
  for (int64_t i = 0; i < regions.count(); ++i) {
    const double* const corners = &op.Input("ROIs").values[i * 4];
    boxes::IntegrateRegionBackward<double>(regions.pooling, corners, regions.Pooled(i, dout.values),
                                           regions.Image(i, dx.values));
    boxes::IntegrateRegionBackwardCorners<double>(regions.pooling, regions.Image(i, x.values),
                                                  corners, regions.Pooled(i, dout.values),
                                                  absl::MakeSpan(drois.values).subspan(i * 4, 4));
  }
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("ROIs@GRAD", std::move(drois));
  return absl::OkStatus();
}

absl::Status RoiPool(OpRun& op) {
  ASSIGN_OR_RETURN(const Regions regions, RegionsOf(op));
  Array x = op.Input("X");
  Array out(x.dtype, regions.pooled_dims);
  Array argmax(VarType::INT64, regions.pooled_dims);
  std::vector<int64_t> places(regions.pooling.pooled_size());
  for (int64_t i = 0; i < regions.count(); ++i) {
    boxes::PoolRegion<double>(regions.pooling, regions.Image(i, x.values), regions.Corners(i),
                              regions.Pooled(i, out.values), absl::MakeSpan(places));
    std::copy(places.begin(), places.end(), regions.Pooled(i, argmax.values).begin());
  }
  op.SetOutput("Out", std::move(out));
  op.SetOutput("Argmax", std::move(argmax));
  return absl::OkStatus();
}

absl::Status RoiPoolGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Regions regions, RegionsOf(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", regions.pooled_dims));
  RETURN_IF_ERROR(op.CheckDims("Argmax", regions.pooled_dims));
  Array dout = op.Input("Out@GRAD");
  std::vector<int64_t> places = IntegersOf(op.Input("Argmax"));
  Array dx(op.Input("X").dtype, op.Input("X").dims);
  for (int64_t i = 0; i < regions.count(); ++i) {
    RETURN_IF_ERROR(boxes::PoolRegionBackward<double>(regions.pooling, regions.Pooled(i, places),
                                                      regions.Pooled(i, dout.values),
                                                      regions.Image(i, dx.values)));
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

Array FloatArray(VarType::Type dtype, const Dims& dims, const std::vector<float>& values) {
  Array array(dtype, dims);
  std::copy(values.begin(), values.end(), array.values.begin());
  return array;
}

// Version 1 has sizes with scales in ImInfo, version 2 sizes in ImShape.
absl::Status GenerateProposals(OpRun& op, bool is_v1) {
  RETURN_IF_ERROR(op.CheckRank("Scores", 4));
  const Array& scores = op.Input("Scores");
  const int64_t images = scores.dims[0];
  ASSIGN_OR_RETURN(boxes::Proposing proposing,
                   boxes::ProposingOf(op.attributes(), scores.dims, is_v1));
  RETURN_IF_ERROR(op.CheckDims(
      "BboxDeltas", Dims{images, 4 * proposing.anchors, proposing.height, proposing.width}));
  const char* const sizes_slot = is_v1 ? "ImInfo" : "ImShape";
  const int64_t width = is_v1 ? 3 : 2;
  RETURN_IF_ERROR(op.CheckDims(sizes_slot, Dims{images, width}));
  for (const char* slot : {"Anchors", "Variances"}) {
    RETURN_IF_ERROR(op.CheckSize(slot, proposing.count() * 4));
  }
  const std::vector<float> all_scores = ElementsOf<float>(scores);
  const std::vector<float> offsets = ElementsOf<float>(op.Input("BboxDeltas"));
  const std::vector<float> sizes = ElementsOf<float>(op.Input(sizes_slot));
  const std::vector<float> anchors = ElementsOf<float>(op.Input("Anchors"));
  const std::vector<float> variances = ElementsOf<float>(op.Input("Variances"));
  std::vector<float> rois;
  std::vector<float> probabilities;
  std::vector<int64_t> counts;
  LoD lod = {{0}};
  const int64_t count = proposing.count();
  for (int64_t i = 0; i < images; ++i) {
    const float* const size = &sizes[i * width];
    const boxes::Proposals proposals = boxes::Propose(
        proposing, {size[0], size[1], is_v1 ? size[2] : 1},
        absl::MakeConstSpan(all_scores).subspan(i * count, count),
        absl::MakeConstSpan(offsets).subspan(i * count * 4, count * 4), anchors, variances);
    rois.insert(rois.end(), proposals.boxes.begin(), proposals.boxes.end());
    probabilities.insert(probabilities.end(), proposals.scores.begin(), proposals.scores.end());
    counts.push_back(proposals.size());
    lod[0].push_back(probabilities.size());
  }
  const auto rows = static_cast<int64_t>(probabilities.size());
  Array out = FloatArray(scores.dtype, {rows, 4}, rois);
  Array of_each = FloatArray(scores.dtype, {rows, 1}, probabilities);
  if (is_v1) out.lod = of_each.lod = lod;
  op.SetCutOutput("RpnRois", std::move(out));
  op.SetCutOutput("RpnRoiProbs", std::move(of_each));
  if (op.era() == Era::kPaddle2) op.SetOutput("RpnRoisNum", IntegerArray({images}, counts));
  return absl::OkStatus();
}

absl::Status DistributeProposals(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("FpnRois", 2));
  const Array& rois = op.Input("FpnRois");
  RETURN_IF_ERROR(op.CheckDims("FpnRois", Dims{rois.dims[0], 4}));
  ASSIGN_OR_RETURN(const boxes::Levels levels, boxes::LevelsOf(op.attributes()));
  if (op.OutputCount("MultiFpnRois") != levels.count()) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", op.OutputCount("MultiFpnRois"),
                                                   " outputs MultiFpnRois; want ", levels.count(),
                                                   ", one for each level"));
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> images, ImagesOf(op, rois, "FpnRois"));
  const Array* counts = FindIfThere(op, "RoisNum");
  const int64_t image_count =
      counts != nullptr ? counts->size() : static_cast<int64_t>(OffsetsOf(rois).size()) - 1;
  const std::vector<float> corners = ElementsOf<float>(rois);
  const boxes::SpreadRegions spread = boxes::Spread(levels, corners, images, image_count);
  for (int64_t level = 0; level < levels.count(); ++level) {
    const std::vector<int64_t>& rows = spread.rows[level];
    Array out(rois.dtype, Dims{static_cast<int64_t>(rows.size()), 4});
    for (size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(rois.values.begin() + rows[i] * 4, 4, out.values.begin() + i * 4);
    }
    LoD lod = {{0}};
    for (const int64_t of_image : spread.counts[level]) lod[0].push_back(lod[0].back() + of_image);
    out.lod = std::move(lod);
    op.SetCutOutput("MultiFpnRois", static_cast<int>(level), std::move(out));
    if (op.era() != Era::kPaddle2 || op.OutputCount("MultiLevelRoIsNum") <= level) continue;
    op.SetOutput("MultiLevelRoIsNum", static_cast<int>(level),
                 IntegerArray({image_count}, spread.counts[level]));
  }
  op.SetOutput("RestoreIndex", IntegerArray({rois.dims[0], 1}, spread.places));
  return absl::OkStatus();
}

absl::Status CollectProposals(OpRun& op) {
  const std::vector<const Array*> rois = op.Inputs("MultiLevelRois");
  const std::vector<const Array*> scores = op.Inputs("MultiLevelScores");
  std::vector<const Array*> counts;
  if (op.HasInputSlot("MultiLevelRoIsNum")) counts = op.Inputs("MultiLevelRoIsNum");
  if (rois.empty() || rois.size() != scores.size() ||
      (!counts.empty() && counts.size() != rois.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", rois.size(), " inputs MultiLevelRois, ", scores.size(),
        " MultiLevelScores and ", counts.size(), " MultiLevelRoIsNum; want one for each level"));
  }
  std::vector<float> all_scores;
  std::vector<double> all_rois;
  std::vector<int64_t> all_images;
  int64_t image_count = 0;
  for (size_t level = 0; level < rois.size(); ++level) {
    const Array& of_level = *rois[level];
    if (of_level.rank() != 2 || of_level.dims[1] != 4 ||
        scores[level]->size() != of_level.dims[0]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "MultiLevelRois[", level, "] is ", DimsText(of_level.dims), " and its scores ",
          DimsText(scores[level]->dims), "; want [n, 4] and [n, 1]"));
    }
    std::vector<int64_t> images;
    if (!counts.empty()) {
      ASSIGN_OR_RETURN(images,
                       boxes::ImagesFromCounts("MultiLevelRoIsNum", IntegersOf(*counts[level]),
                                               of_level.dims[0]));
      image_count = counts[level]->size();
    } else {
      ASSIGN_OR_RETURN(images, boxes::ImagesFromOffsets("MultiLevelRois", OffsetsOf(of_level),
                                                        of_level.dims[0]));
      image_count = static_cast<int64_t>(OffsetsOf(of_level).size()) - 1;
    }
    const std::vector<float> of_scores = ElementsOf<float>(*scores[level]);
    all_scores.insert(all_scores.end(), of_scores.begin(), of_scores.end());
    all_rois.insert(all_rois.end(), of_level.values.begin(), of_level.values.end());
    all_images.insert(all_images.end(), images.begin(), images.end());
  }
  const int64_t most = op.Int("post_nms_topN");
  if (most < 1) {
    return absl::InvalidArgumentError(absl::StrCat("post_nms_topN is ", most, "; want 1 or more"));
  }
  const std::vector<int64_t> best = boxes::BestOfAll(all_scores, all_images, most);
  std::vector<int64_t> of_images(image_count, 0);
  Array out(rois[0]->dtype, Dims{static_cast<int64_t>(best.size()), 4});
  for (size_t i = 0; i < best.size(); ++i) {
    std::copy_n(all_rois.begin() + best[i] * 4, 4, out.values.begin() + i * 4);
    if (all_images[best[i]] >= image_count) {
      return absl::InvalidArgumentError(
          absl::StrCat("the levels are of different numbers of images; want ", image_count));
    }
    ++of_images[all_images[best[i]]];
  }
  LoD lod = {{0}};
  for (const int64_t count : of_images) lod[0].push_back(lod[0].back() + count);
  out.lod = std::move(lod);
  op.SetCutOutput("FpnRois", std::move(out));
  if (op.era() == Era::kPaddle2) op.SetOutput("RoisNum", IntegerArray({image_count}, of_images));
  return absl::OkStatus();
}

}  // namespace

Kernels RegionsKernels() {
  return {
      {"roi_align", Average<boxes::AlignRegion<double>>},
      {"roi_align_grad", AverageGradient<boxes::AlignRegionBackward<double>>},
      {"psroi_pool", Average<boxes::AverageOwnChannels<double>>},
      {"psroi_pool_grad", AverageGradient<boxes::AverageOwnChannelsBackward<double>>},
      {"prroi_pool", Integral},
      {"prroi_pool_grad", IntegralGradient},
      {"roi_pool", RoiPool},
      {"roi_pool_grad", RoiPoolGradient},
      {"generate_proposals", [](OpRun& op) { return GenerateProposals(op, /*is_v1=*/true); }},
      {"generate_proposals_v2", [](OpRun& op) { return GenerateProposals(op, /*is_v1=*/false); }},
      {"distribute_fpn_proposals", DistributeProposals},
      {"collect_fpn_proposals", CollectProposals}};
}

}  // namespace fixpoint::reference
