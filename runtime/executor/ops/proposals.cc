// Regions that may hold an object, proposed from anchors, and spread over levels of features. A run
// decides how many there are.

#include "runtime/boxes/proposals.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/image_of_region.h"
#include "runtime/executor/ops/run_shape.h"

namespace fixpoint::executor {
namespace {

// An output of INT32 that the op may lack, in one era or in all.
std::optional<Buffer> WriteCounts(OpPlanner& op, absl::string_view slot, int64_t images,
                                  int index = 0) {
  if (op.era() == Era::kFluid || index >= op.OutputCount(slot)) return std::nullopt;
  return op.WriteAs(slot, {VarType::INT32, {images}}, Layout::kRowMajor, index);
}

void SetCounts(const StepContext& run, const std::optional<Buffer>& to,
               const std::vector<int64_t>& counts) {
  if (!to) return;
  std::transform(counts.begin(), counts.end(), run.Of<int32_t>(*to).begin(),
                 [](int64_t count) { return static_cast<int32_t>(count); });
}

std::vector<int64_t> OffsetsFrom(const std::vector<int64_t>& counts) {
  std::vector<int64_t> offsets = {0};
  for (const int64_t count : counts) offsets.push_back(offsets.back() + count);
  return offsets;
}

// Version 1 has sizes with scales in ImInfo, version 2 sizes in ImShape.
absl::Status PlanGenerateProposals(OpPlanner& op, bool is_v1) {
  const Dims scores_dims = op.InputDims("Scores");
  ASSIGN_OR_RETURN(const boxes::Proposing proposing,
                   boxes::ProposingOf(op.attributes(), scores_dims, is_v1));
  const int64_t images = scores_dims[0];
  RETURN_IF_ERROR(op.CheckDims("BboxDeltas",
                               {images, 4 * proposing.anchors, proposing.height, proposing.width}));
  const char* const sizes_slot = is_v1 ? "ImInfo" : "ImShape";
  const int64_t width = is_v1 ? 3 : 2;
  RETURN_IF_ERROR(op.CheckDims(sizes_slot, {images, width}));
  std::vector<Buffer> reads;
  for (const char* slot : {"Anchors", "Variances"}) {
    RETURN_IF_ERROR(op.CheckSize(slot, proposing.count() * 4));
  }
  for (const char* slot : {"Scores", "BboxDeltas", sizes_slot, "Anchors", "Variances"}) {
    ASSIGN_OR_RETURN(const Buffer buffer, op.ReadFloats(slot));
    reads.push_back(buffer);
  }
  ASSIGN_OR_RETURN(const int64_t most, ElementCount({images, proposing.most()}));
  RETURN_IF_ERROR(ElementCount({most, 4}).status());
  // Version 2 says whose regions they are in RpnRoisNum alone.
  std::vector<int64_t> offsets_most;
  if (is_v1) offsets_most.push_back(images + 1);
  const Buffer rois = op.WriteAs("RpnRois", {VarType::FP32, {most, 4}});
  const RunShape rois_shape = op.DecideShape("RpnRois", offsets_most);
  const Buffer scores = op.WriteAs("RpnRoiProbs", {VarType::FP32, {most, 1}});
  const RunShape scores_shape = op.DecideShape("RpnRoiProbs", offsets_most);
  const std::optional<Buffer> counts = WriteCounts(op, "RpnRoisNum", images);
  std::vector<Buffer> writes = {rois, scores};
  for (const RunShape& shape : {rois_shape, scores_shape}) {
    for (const Buffer buffer : shape.buffers()) writes.push_back(buffer);
  }
  if (counts) writes.push_back(*counts);
  op.AddStep({reads, writes, [=](const StepContext& run) {
                std::vector<float> corners;
                std::vector<float> of_each;
                std::vector<int64_t> of_images;
                const int64_t count = proposing.count();
                for (int64_t i = 0; i < images; ++i) {
                  const float* const size = run.Floats(reads[2]).data() + i * width;
                  const boxes::Proposals proposals =
                      boxes::Propose(proposing, {size[0], size[1], is_v1 ? size[2] : 1},
                                     run.Floats(reads[0]).subspan(i * count, count),
                                     run.Floats(reads[1]).subspan(i * count * 4, count * 4),
                                     run.Floats(reads[3]), run.Floats(reads[4]));
                  corners.insert(corners.end(), proposals.boxes.begin(), proposals.boxes.end());
                  of_each.insert(of_each.end(), proposals.scores.begin(), proposals.scores.end());
                  of_images.push_back(proposals.size());
                }
                const auto rows = static_cast<int64_t>(of_each.size());
                WriteRows<float>(run, rois_shape, {rows, 4}, corners, rois);
                WriteRows<float>(run, scores_shape, {rows, 1}, of_each, scores);
                if (is_v1) {
                  DecideOffsets(run, rois_shape, OffsetsFrom(of_images));
                  DecideOffsets(run, scores_shape, OffsetsFrom(of_images));
                }
                SetCounts(run, counts, of_images);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Where the regions of one level go.
struct LevelOutput {
  Buffer rois;
  RunShape shape;
  std::optional<Buffer> counts;
};

absl::Status PlanDistributeProposals(OpPlanner& op) {
  const Dims dims = op.InputDims("FpnRois");
  if (dims.size() != 2 || dims[1] != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("FpnRois is ", DimsText(dims), "; want rows of 4"));
  }
  ASSIGN_OR_RETURN(const boxes::Levels levels, boxes::LevelsOf(op.attributes()));
  if (op.OutputCount("MultiFpnRois") != levels.count()) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", op.OutputCount("MultiFpnRois"),
                                                   " outputs MultiFpnRois; want ", levels.count(),
                                                   ", one for each level"));
  }
  std::vector<Buffer> reads;
  ASSIGN_OR_RETURN(const ImageOfRegion regions, ReadImageOfRegion(op, "FpnRois", &reads));
  ASSIGN_OR_RETURN(const Buffer rois, op.ReadFloats("FpnRois"));
  reads.push_back(rois);
  std::vector<LevelOutput> outputs;
  std::vector<Buffer> writes;
  for (int level = 0; level < static_cast<int>(levels.count()); ++level) {
    LevelOutput output;
    output.rois = op.WriteAs("MultiFpnRois", {VarType::FP32, dims}, Layout::kRowMajor, level);
    output.shape = op.DecideShape("MultiFpnRois", {regions.image_count + 1}, level);
    output.counts = WriteCounts(op, "MultiLevelRoIsNum", regions.image_count, level);
    writes.push_back(output.rois);
    for (const Buffer buffer : output.shape.buffers()) writes.push_back(buffer);
    if (output.counts) writes.push_back(*output.counts);
    outputs.push_back(output);
  }
  const Buffer restore = op.WriteAs("RestoreIndex", {VarType::INT32, {dims[0], 1}});
  std::optional<RunShape> restore_shape;
  if (regions.shape) {
    restore_shape = op.DecideShape("RestoreIndex");
    writes.push_back(restore_shape->dims);
  }
  writes.push_back(restore);
  op.AddStep(
      {reads, writes, [=](const StepContext& run) -> absl::Status {
         ASSIGN_OR_RETURN(const std::vector<int64_t> images, regions.In(run));
         const absl::Span<const float> corners = run.Floats(rois);
         const boxes::SpreadRegions spread =
             boxes::Spread(levels, corners, images, regions.image_count);
         for (size_t level = 0; level < outputs.size(); ++level) {
           const LevelOutput& output = outputs[level];
           std::vector<float> rows;
           for (const int64_t row : spread.rows[level]) {
             rows.insert(rows.end(), corners.begin() + row * 4, corners.begin() + row * 4 + 4);
           }
           WriteRows<float>(run, output.shape, {static_cast<int64_t>(spread.rows[level].size()), 4},
                            rows, output.rois);
           DecideOffsets(run, output.shape, OffsetsFrom(spread.counts[level]));
           SetCounts(run, output.counts, spread.counts[level]);
         }
         const absl::Span<int32_t> places = run.Of<int32_t>(restore);
         std::copy(spread.places.begin(), spread.places.end(), places.begin());
         if (restore_shape) {
           DecideRows(run, *restore_shape, {static_cast<int64_t>(spread.places.size()), 1}, places);
         }
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

// The regions of one level that are collected.
struct LevelInput {
  ImageOfRegion regions;
  Buffer rois;
  Buffer scores;
};

absl::StatusOr<std::vector<LevelInput>> ReadLevels(OpPlanner& op, std::vector<Buffer>* reads) {
  const int count = op.InputCount("MultiLevelRois");
  if (count == 0 || op.InputCount("MultiLevelScores") != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", count, " inputs MultiLevelRois and ", op.InputCount("MultiLevelScores"),
        " MultiLevelScores; want one for each level"));
  }
  std::vector<LevelInput> levels;
  for (int i = 0; i < count; ++i) {
    const Dims& rois = op.InputDims("MultiLevelRois", i);
    const Dims& scores = op.InputDims("MultiLevelScores", i);
    if (rois.size() != 2 || rois[1] != 4 || scores.empty() ||
        op.InputType("MultiLevelScores", i).size() != rois[0]) {
      return absl::InvalidArgumentError(absl::StrCat("MultiLevelRois[", i, "] is ", DimsText(rois),
                                                     " and its scores ", DimsText(scores),
                                                     "; want [n, 4] and [n, 1]"));
    }
    LevelInput level;
    ASSIGN_OR_RETURN(level.regions,
                     ReadImageOfRegion(op, "MultiLevelRois", reads, i, "MultiLevelRoIsNum"));
    op.TakeRunShape("MultiLevelScores", i);
    ASSIGN_OR_RETURN(level.rois, op.ReadFloats("MultiLevelRois", Layout::kRowMajor, i));
    ASSIGN_OR_RETURN(level.scores, op.ReadFloats("MultiLevelScores", Layout::kRowMajor, i));
    reads->insert(reads->end(), {level.rois, level.scores});
    levels.push_back(std::move(level));
    if (levels.back().regions.image_count != levels.front().regions.image_count) {
      return absl::InvalidArgumentError(
          absl::StrCat("MultiLevelRois[", i, "] is of ", levels.back().regions.image_count,
                       " images; want ", levels.front().regions.image_count, ", as the first is"));
    }
  }
  return levels;
}

absl::Status PlanCollectProposals(OpPlanner& op) {
  const int64_t most = op.attributes().Int("post_nms_topN");
  if (most < 1) {
    return absl::InvalidArgumentError(absl::StrCat("post_nms_topN is ", most, "; want 1 or more"));
  }
  std::vector<Buffer> reads;
  ASSIGN_OR_RETURN(const std::vector<LevelInput> levels, ReadLevels(op, &reads));
  const int64_t images = levels.front().regions.image_count;
  int64_t all = 0;
  for (const LevelInput& level : levels) all += level.regions.most;
  const Buffer out = op.WriteAs("FpnRois", {VarType::FP32, {std::min(all, most), 4}});
  const RunShape shape = op.DecideShape("FpnRois", {images + 1});
  const std::optional<Buffer> counts = WriteCounts(op, "RoisNum", images);
  std::vector<Buffer> writes = shape.buffers();
  writes.push_back(out);
  if (counts) writes.push_back(*counts);
  op.AddStep({reads, writes, [=](const StepContext& run) -> absl::Status {
                std::vector<float> scores;
                std::vector<const float*> rois;
                std::vector<int64_t> of_regions;
                for (const LevelInput& level : levels) {
                  ASSIGN_OR_RETURN(const std::vector<int64_t> found, level.regions.In(run));
                  for (size_t i = 0; i < found.size(); ++i) {
                    rois.push_back(run.Floats(level.rois).data() + i * 4);
                    scores.push_back(run.Floats(level.scores)[i]);
                  }
                  of_regions.insert(of_regions.end(), found.begin(), found.end());
                }
                std::vector<float> rows;
                std::vector<int64_t> of_images(images, 0);
                for (const int64_t i : boxes::BestOfAll(scores, of_regions, most)) {
                  rows.insert(rows.end(), rois[i], rois[i] + 4);
                  ++of_images[of_regions[i]];
                }
                const std::vector<int64_t> offsets = OffsetsFrom(of_images);
                WriteRows<float>(run, shape, {offsets.back(), 4}, rows, out);
                DecideOffsets(run, shape, offsets);
                SetCounts(run, counts, of_images);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans ProposalsPlans() {
  return {{"generate_proposals",
           [](OpPlanner& op) { return PlanGenerateProposals(op, /*is_v1=*/true); }},
          {"generate_proposals_v2",
           [](OpPlanner& op) { return PlanGenerateProposals(op, /*is_v1=*/false); }},
          {"distribute_fpn_proposals", PlanDistributeProposals},
          {"collect_fpn_proposals", PlanCollectProposals}};
}

}  // namespace fixpoint::executor
