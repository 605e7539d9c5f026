// Boxes of detectors: placed, coded, suppressed and matched, and regions that are pooled.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/random/generators.h"
#include "tests/random/generators/some_boxes.h"

namespace fixpoint::random_cases {
namespace {

std::string SomeFloats(CaseMaker& c, int count, float low, float high) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(c.Between(low, high));
  return FloatsText(values);
}

constexpr const char* kVariances = "variances=[0.1, 0.1, 0.2, 0.2]";

std::string Images(CaseMaker& c) {
  const std::string input = c.Numbers({1, 2, c.Between(1, 5), c.Between(1, 5)});
  return absl::StrCat("(Input=", input,
                      ", Image=", c.Numbers({1, 1, c.Between(1, 40), c.Between(1, 40)}), ")");
}

std::string Steps(CaseMaker& c) {
  return absl::StrCat("step_w=", FloatText(c.OneIn(2) ? 0.0f : c.Between(1.0f, 9.0f)),
                      ", step_h=", FloatText(c.OneIn(2) ? 0.0f : c.Between(1.0f, 9.0f)),
                      ", offset=", FloatText(c.OneIn(2) ? 0.5f : c.Between(-1.0f, 2.0f)),
                      ", clip=", BoolText(c.OneIn(2)));
}

void PriorBox(CaseMaker& c) {
  const int sizes = c.Between(1, 3);
  c.Op("prior_box", Images(c),
       " -> (Boxes=boxes, Variances=variances) {min_sizes=", SomeFloats(c, sizes, 1, 20),
       c.OneIn(2) ? absl::StrCat(", max_sizes=", SomeFloats(c, sizes, 20, 40)) : "",
       ", aspect_ratios=", SomeFloats(c, c.Between(1, 3), 0.25f, 4), ", ", kVariances,
       ", flip=", BoolText(c.OneIn(2)), ", min_max_aspect_ratios_order=", BoolText(c.OneIn(2)),
       ", ", Steps(c), "}");
  c.Exact();
}

void DensityPriorBox(CaseMaker& c) {
  const int sizes = c.Between(1, 3);
  std::vector<int> densities;
  for (int i = 0; i < sizes; ++i) densities.push_back(c.Between(1, 4));
  c.Op("density_prior_box", Images(c),
       " -> (Boxes=boxes, Variances=variances) {fixed_sizes=", SomeFloats(c, sizes, 1, 20),
       ", fixed_ratios=", SomeFloats(c, c.Between(1, 2), 0.25f, 4),
       ", densities=", ListText(densities), ", ", kVariances,
       ", flatten_to_2d=", BoolText(c.OneIn(2)), ", ", Steps(c), "}");
  c.Exact();
}

void AnchorGenerator(CaseMaker& c) {
  c.Op("anchor_generator(Input=", c.Numbers({1, 2, c.Between(1, 5), c.Between(1, 5)}),
       ") -> (Anchors=boxes, Variances=variances) {anchor_sizes=",
       SomeFloats(c, c.Between(1, 3), 8, 100),
       ", aspect_ratios=", SomeFloats(c, c.Between(1, 3), 0.25f, 4), ", ", kVariances,
       ", stride=", SomeFloats(c, 2, 4, 20), "}");
  c.Exact();
}

void BoxCoder(CaseMaker& c) {
  const int targets = c.Between(1, 6);
  const int priors = c.Between(1, 6);
  const bool encodes = c.OneIn(2);
  const int axis = encodes ? 0 : c.Between(0, 1);
  const int boxes = axis == 0 ? priors : targets;
  const std::string prior = SomeBoxes(c, {boxes}, 10);
  const std::string target =
      encodes ? SomeBoxes(c, {targets}, 10) : c.Numbers({targets, priors, 4}, -2, 2);
  const int variances = c.Between(0, 2);
  const std::string of_each =
      variances == 1 ? absl::StrCat(", PriorBoxVar=", c.Numbers({boxes, 4}, 0.1f, 2)) : "";
  c.Op("box_coder(PriorBox=", prior, of_each, ", TargetBox=", target,
       ") -> (OutputBox=out) {code_type=\"", encodes ? "encode" : "decode",
       "_center_size\", box_normalized=", BoolText(c.OneIn(2)), ", axis=", axis,
       variances == 2 ? absl::StrCat(", variance=", SomeFloats(c, 4, 0.1f, 2)) : "", "}");
  c.Sums(4);
}

void IouSimilarity(CaseMaker& c) {
  const std::string x = SomeBoxes(c, {c.Between(1, 8)}, 10);
  c.Op("iou_similarity(X=", x, ", Y=", SomeBoxes(c, {c.Between(1, 8)}, 10),
       ") -> (Out=out) {box_normalized=", BoolText(c.OneIn(2)), "}");
  c.Sums(4);
}

void BoxClip(CaseMaker& c) {
  const int rows = c.Between(1, 12);
  const std::string input = c.Numbers({rows, 4}, -20, 60);
  c.CutIntoSequences(input);
  const auto images = static_cast<int>(c.Input(input).lod().back().size()) - 1;
  std::vector<float> sizes;
  for (int i = 0; i < images; ++i) {
    for (int k = 0; k < 2; ++k) sizes.push_back(static_cast<float>(c.Between(1, 50)));
    sizes.push_back(c.OneIn(2) ? 1 : c.Between(0.5f, 2.0f));
  }
  c.Op("box_clip(Input=", input, ", ImInfo=", c.Floats({images, 3}, sizes), ") -> (Output=out)");
  c.Exact();
}

void YoloBox(CaseMaker& c) {
  const int anchors = c.Between(1, 3);
  const int classes = c.Between(1, 5);
  const bool has_iou = c.is_2x() && c.OneIn(3);
  const int images = c.Between(1, 2);
  std::vector<int> sizes;
  for (int i = 0; i < 2 * anchors; ++i) sizes.push_back(c.Between(5, 60));
  const std::string x = c.Numbers(
      {images, anchors * (classes + (has_iou ? 6 : 5)), c.Between(1, 5), c.Between(1, 5)});
  const std::string size = c.Integers(VarType::INT32, {images, 2}, 30, 200);
  c.Op("yolo_box(X=", x, ", ImgSize=", size,
       ") -> (Boxes=boxes, Scores=scores) {anchors=", ListText(sizes), ", class_num=", classes,
       ", conf_thresh=", FloatText(c.OneIn(3) ? 0.0f : c.Between(0.1f, 0.6f)),
       ", downsample_ratio=", c.OneOf({8, 16, 32}), ", clip_bbox=", BoolText(c.OneIn(2)),
       ", scale_x_y=", FloatText(c.OneIn(2) ? 1.0f : c.Between(1.0f, 1.5f)),
       has_iou ? ", iou_aware=true, iou_aware_factor=0.4" : "", "}");
  c.Sums(4);
}

void BipartiteMatch(CaseMaker& c) {
  const Dims dims = {c.Between(1, 8), c.Between(1, 8)};
  const std::string distances = c.Numbers(dims, 0, 1);
  if (c.OneIn(2)) c.CutIntoSequences(distances);
  c.Op("bipartite_match(DistMat=", distances,
       ") -> (ColToRowMatchIndices=matched, ColToRowMatchDist=distance) {match_type=\"",
       c.OneIn(2) ? "per_prediction" : "bipartite",
       "\", dist_threshold=", FloatText(c.Between(0.1f, 0.9f)), "}");
  c.Exact();
}

// Matches of X's images, none of a row that an image lacks.
std::string SomeMatches(CaseMaker& c, const std::vector<uint64_t>& offsets, int columns) {
  uint64_t fewest = UINT64_MAX;
  for (size_t i = 1; i < offsets.size(); ++i)
    fewest = std::min(fewest, offsets[i] - offsets[i - 1]);
  return c.Integers(VarType::INT32, {static_cast<int64_t>(offsets.size()) - 1, columns}, -1,
                    static_cast<int64_t>(fewest) - 1);
}

void TargetAssign(CaseMaker& c) {
  const int columns = c.Between(1, 6);
  const std::string x = c.Numbers({c.Between(1, 9), c.OneIn(2) ? 1 : columns, c.Between(1, 4)});
  c.CutIntoSequences(x);
  const std::string matches = SomeMatches(c, c.Input(x).lod().back(), columns);
  c.Op("target_assign(X=", x, ", MatchIndices=", matches,
       ") -> (Out=out, OutWeight=weight) {mismatch_value=", c.Between(-1, 3), "}");
  c.Exact();
}

void MineHardExamples(CaseMaker& c) {
  const Dims dims = {c.Between(1, 3), c.Between(1, 10)};
  const bool is_hard = c.OneIn(3);
  const std::string loss = c.Numbers(dims, 0, 2);
  const std::string more = c.OneIn(2) ? absl::StrCat(", LocLoss=", c.Numbers(dims, 0, 2)) : "";
  const std::string matches = c.Integers(VarType::INT32, dims, -1, c.OneIn(2) ? 0 : 2);
  c.Op("mine_hard_examples(ClsLoss=", loss, more, ", MatchIndices=", matches,
       ", MatchDist=", c.Numbers(dims, 0, 1),
       ") -> (NegIndices=negative, UpdatedMatchIndices=updated) {mining_type=\"",
       is_hard ? "hard_example" : "max_negative", "\", sample_size=", c.Between(1, 12),
       ", neg_pos_ratio=", FloatText(c.Between(0.5f, 3.0f)),
       ", neg_dist_threshold=", FloatText(c.Between(0.3f, 1.0f)), "}");
  c.Exact();
}

void HuberLoss(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string x = c.Numbers(dims);
  c.Op("huber_loss(X=", x, ", Y=", c.Numbers(dims), ") -> (Out=out, Residual=residual) {delta=",
       FloatText(c.OneIn(2) ? 1.0f : c.Between(0.5f, 3.0f)), "}");
  c.Sums(4);
}

void SmoothL1Loss(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 3);
  const std::string x = c.Numbers(dims);
  const std::string y = c.Numbers(dims);
  const std::string weights = c.OneIn(2) ? ""
                                         : absl::StrCat(", InsideWeight=", c.Numbers(dims),
                                                        ", OutsideWeight=", c.Numbers(dims));
  c.Op("smooth_l1_loss(X=", x, ", Y=", y, weights,
       ") -> (Diff=diff, Out=out) {sigma=", FloatText(c.OneIn(2) ? 1.0f : c.Between(0.5f, 3.0f)),
       "}");
  c.Sums(SizeOf(dims) / dims[0] + 4);
  if (c.OneIn(2)) c.Move({x, y});
}

// multiclass_nms and its later versions, of images or of regions.
Generator MulticlassNms(int version) {
  return [version](CaseMaker& c) {
    const int classes = c.Between(1, 4);
    const int boxes = c.Between(1, 12);
    const int images = c.Between(1, 3);
    const bool is_of_regions = c.OneIn(3);
    const std::string bboxes =
        SomeBoxes(c, is_of_regions ? Dims{boxes, classes} : Dims{images, boxes}, 10, true);
    const std::string scores =
        c.Numbers(is_of_regions ? Dims{boxes, classes} : Dims{images, classes, boxes}, 0, 1);
    std::string counts;
    if (is_of_regions && version == 3) {
      counts = absl::StrCat(", RoisNum=", c.Integers(VarType::INT32, {1}, boxes, boxes));
    } else if (is_of_regions) {
      c.CutIntoSequences(bboxes);
    }
    constexpr const char* kTypes[] = {"multiclass_nms", "multiclass_nms2", "multiclass_nms3"};
    constexpr const char* kOutputs[] = {"", ", Index=index", ", Index=index, NmsRoisNum=counts"};
    c.Op(kTypes[version - 1], "(BBoxes=", bboxes, ", Scores=", scores, counts, ") -> (Out=out",
         kOutputs[version - 1], ") {", Limits(c, classes), Overlaps(c), "}");
    c.Exact();
  };
}

void MatrixNms(CaseMaker& c) {
  const int classes = c.Between(1, 4);
  const int boxes = c.Between(1, 12);
  const int images = c.Between(1, 3);
  const std::string bboxes = SomeBoxes(c, {images, boxes}, 10, true);
  c.Op("matrix_nms(BBoxes=", bboxes, ", Scores=", c.Numbers({images, classes, boxes}, 0, 1),
       ") -> (Out=out, Index=index, RoisNum=counts) {", Limits(c, classes),
       ", post_threshold=", FloatText(c.Between(0.0f, 0.3f)),
       ", use_gaussian=", BoolText(c.OneIn(2)),
       ", gaussian_sigma=", FloatText(c.Between(0.5f, 3.0f)), "}");
  c.Exact();
}

void WhereIndex(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const VarType::Type dtype = c.OneOf({VarType::BOOL, VarType::INT32, VarType::INT64});
  c.Op("where_index(Condition=", c.Integers(dtype, dims, 0, 1), ") -> (Out=out)");
  c.Exact();
}

// Regions, with the slot that says whose they are: all of the first image, or each sequence of one.
std::string SomeRegions(CaseMaker& c) {
  const int regions = c.Between(1, 6);
  const std::string rois = SomeBoxes(c, {regions}, 20, true);
  if (c.is_2x()) {
    return absl::StrCat("ROIs=", rois,
                        ", RoisNum=", c.Integers(VarType::INT32, {1}, regions, regions));
  }
  c.CutIntoSequences(rois);
  return absl::StrCat("ROIs=", rois);
}

Generator RoiPooling(const std::string& type) {
  return [type](CaseMaker& c) {
    const bool is_average = type == "roi_align";
    const std::string x =
        c.Numbers({c.is_2x() ? 2 : 20, c.Between(1, 3), c.Between(1, 8), c.Between(1, 8)});
    const std::string rois = SomeRegions(c);
    std::string attributes =
        absl::StrCat("pooled_height=", c.Between(1, 4), ", pooled_width=", c.Between(1, 4),
                     ", spatial_scale=", FloatText(c.OneOf({1.0f, 0.5f, 0.25f})));
    if (is_average) {
      absl::StrAppend(&attributes, ", sampling_ratio=", c.OneIn(2) ? -1 : c.Between(1, 3));
      if (c.is_2x()) absl::StrAppend(&attributes, ", aligned=", BoolText(c.OneIn(2)));
    }
    c.Op(type, "(X=", x, ", ", rois, ") -> (Out=out", is_average ? "" : ", Argmax=places", ") {",
         attributes, "}");
    if (is_average) {
      c.Sums(4 * 25 * 25);
      c.Move({x});
    } else {
      c.Sums(6);
      c.Move({"out@GRAD"});
    }
  };
}

void PsroiPool(CaseMaker& c) {
  const int channels = c.Between(1, 3);
  const int height = c.Between(1, 3);
  const int width = c.Between(1, 3);
  const std::string x =
      c.Numbers({c.is_2x() ? 2 : 20, channels * height * width, c.Between(1, 8), c.Between(1, 8)});
  const std::string rois = SomeRegions(c);
  c.Op("psroi_pool(X=", x, ", ", rois, ") -> (Out=out) {output_channels=", channels,
       ", pooled_height=", height, ", pooled_width=", width,
       ", spatial_scale=", FloatText(c.OneOf({1.0f, 0.5f, 0.25f})), "}");
  c.Sums(64);
  c.Move({x});
}

Generator GenerateProposals(bool is_v1) {
  return [is_v1](CaseMaker& c) {
    const int images = c.Between(1, 2);
    const int anchors = c.Between(1, 3);
    const int height = c.Between(1, 4);
    const int width = c.Between(1, 4);
    std::vector<float> sizes;
    for (int i = 0; i < images; ++i) {
      for (int k = 0; k < 2; ++k) sizes.push_back(static_cast<float>(c.Between(10, 40)));
      if (is_v1) sizes.push_back(c.OneIn(2) ? 1 : c.Between(0.5f, 2.0f));
    }
    const std::string scores = c.Numbers({images, anchors, height, width}, 0, 1);
    const std::string deltas = c.Numbers({images, 4 * anchors, height, width}, -1, 1);
    const std::string of_images = c.Floats({images, is_v1 ? 3 : 2}, sizes);
    const std::string boxes = SomeBoxes(c, {height, width, anchors}, 30);
    c.Op(is_v1 ? "generate_proposals" : "generate_proposals_v2", "(Scores=", scores,
         ", BboxDeltas=", deltas, is_v1 ? ", ImInfo=" : ", ImShape=", of_images,
         ", Anchors=", boxes, ", Variances=", c.Numbers({height, width, anchors, 4}, 0.1f, 1),
         ") -> (RpnRois=rois, RpnRoiProbs=scores_out",
         c.is_2x() && c.OneIn(2) ? ", RpnRoisNum=counts" : "",
         ") {pre_nms_topN=", c.OneIn(3) ? 0 : c.Between(1, 20),
         ", post_nms_topN=", c.OneIn(3) ? 0 : c.Between(1, 10),
         ", nms_thresh=", FloatText(c.Between(0.2f, 0.9f)),
         ", min_size=", FloatText(c.Between(0.0f, 6.0f)),
         ", eta=", FloatText(c.OneIn(2) ? 1.0f : c.Between(0.5f, 1.0f)),
         is_v1 ? "" : absl::StrCat(", pixel_offset=", BoolText(c.OneIn(2))), "}");
    c.Exact();
  };
}

void DistributeProposals(CaseMaker& c) {
  const int rows = c.Between(1, 12);
  const int levels = c.Between(1, 4);
  const std::string rois = SomeBoxes(c, {rows}, 200, true);
  const bool has_counts = c.is_2x() && c.OneIn(2);
  std::string inputs = absl::StrCat("FpnRois=", rois);
  std::vector<std::string> names;
  std::vector<std::string> counts;
  for (int i = 0; i < levels; ++i) {
    names.push_back(absl::StrCat("level", i));
    counts.push_back(absl::StrCat("counts", i));
  }
  std::string outputs =
      absl::StrCat("MultiFpnRois=[", absl::StrJoin(names, ", "), "], RestoreIndex=restore");
  if (has_counts) {
    absl::StrAppend(&inputs, ", RoisNum=", c.Integers(VarType::INT32, {1}, rows, rows));
    absl::StrAppend(&outputs, ", MultiLevelRoIsNum=[", absl::StrJoin(counts, ", "), "]");
  } else {
    c.CutIntoSequences(rois);
  }
  const int least = c.Between(1, 3);
  c.Op("distribute_fpn_proposals(", inputs, ") -> (", outputs, ") {min_level=", least,
       ", max_level=", least + levels - 1, ", refer_level=", least + c.Between(0, levels - 1),
       ", refer_scale=", c.Between(20, 100),
       c.is_2x() ? absl::StrCat(", pixel_offset=", BoolText(c.OneIn(2))) : "", "}");
  c.Exact();
}

void CollectProposals(CaseMaker& c) {
  const int levels = c.Between(1, 3);
  std::vector<std::string> rois;
  std::vector<std::string> scores;
  std::vector<std::string> counts;
  for (int i = 0; i < levels; ++i) {
    const int rows = c.Between(1, 6);
    rois.push_back(SomeBoxes(c, {rows}, 30));
    scores.push_back(c.Numbers({rows, 1}, 0, 1));
    counts.push_back(c.Integers(VarType::INT32, {1}, rows, rows));
  }
  c.set_era(Era::kPaddle2);
  c.Op("collect_fpn_proposals(MultiLevelRois=[", absl::StrJoin(rois, ", "), "], MultiLevelScores=[",
       absl::StrJoin(scores, ", "), "], MultiLevelRoIsNum=[", absl::StrJoin(counts, ", "),
       "]) -> (FpnRois=out, RoisNum=counts) {post_nms_topN=", c.Between(1, 12), "}");
  c.Exact();
}

}  // namespace

Generators BoxesGenerators() {
  return {{"prior_box", PriorBox},
          {"density_prior_box", DensityPriorBox},
          {"anchor_generator", AnchorGenerator},
          {"box_coder", BoxCoder},
          {"iou_similarity", IouSimilarity},
          {"box_clip", BoxClip},
          {"yolo_box", YoloBox},
          {"bipartite_match", BipartiteMatch},
          {"target_assign", TargetAssign},
          {"mine_hard_examples", MineHardExamples},
          {"huber_loss", HuberLoss},
          {"smooth_l1_loss", SmoothL1Loss},
          {"multiclass_nms", MulticlassNms(1)},
          {"multiclass_nms2", MulticlassNms(2)},
          {"multiclass_nms3", MulticlassNms(3)},
          {"matrix_nms", MatrixNms},
          {"where_index", WhereIndex},
          {"roi_align", RoiPooling("roi_align")},
          {"roi_pool", RoiPooling("roi_pool")},
          {"psroi_pool", PsroiPool},
          {"generate_proposals", GenerateProposals(true)},
          {"generate_proposals_v2", GenerateProposals(false)},
          {"distribute_fpn_proposals", DistributeProposals},
          {"collect_fpn_proposals", CollectProposals}};
}

}  // namespace fixpoint::random_cases
