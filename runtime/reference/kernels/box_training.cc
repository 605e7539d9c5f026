// What trains a detector: prior boxes are matched with true ones, and the losses of some count.

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/boxes/matching.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/elements.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// Without offsets all rows are of one image.
absl::Status BipartiteMatch(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("DistMat", 2));
  const Array& distances = op.Input("DistMat");
  const int64_t columns = distances.dims[1];
  std::vector<Sequence> images = {{0, distances.dims[0]}};
  if (!distances.lod.empty()) {
    ASSIGN_OR_RETURN(images, SequencesOf("DistMat", distances.dims, distances.lod));
  }
  const bool is_per_prediction = op.String("match_type") == "per_prediction";
  const Dims dims = {static_cast<int64_t>(images.size()), columns};
  Array matched(VarType::INT32, dims);
  Array distance(distances.dtype, dims);
  InTypeOf(distances, [&](auto element) {
    using T = decltype(element);
    const std::vector<T> all = ElementsOf<T>(distances);
    std::vector<int32_t> of_image(columns);
    std::vector<T> at(columns);
    for (size_t i = 0; i < images.size(); ++i) {
      boxes::Match<T>(
          images[i].length(), columns,
          absl::MakeConstSpan(all).subspan(images[i].begin * columns, images[i].length() * columns),
          is_per_prediction ? std::optional<T>(static_cast<T>(op.Float("dist_threshold")))
                            : std::nullopt,
          absl::MakeSpan(of_image), absl::MakeSpan(at));
      std::copy(of_image.begin(), of_image.end(), matched.values.begin() + i * columns);
      std::copy(at.begin(), at.end(), distance.values.begin() + i * columns);
    }
  });
  op.SetOutput("ColToRowMatchIndices", std::move(matched));
  op.SetOutput("ColToRowMatchDist", std::move(distance));
  return absl::OkStatus();
}

// Out [N, M, K] are rows of X [rows, P, K], whose offsets are those of N images.
absl::Status TargetAssign(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 3));
  RETURN_IF_ERROR(op.CheckRank("MatchIndices", 2));
  const Array& x = op.Input("X");
  const Array& matches = op.Input("MatchIndices");
  ASSIGN_OR_RETURN(const std::vector<Sequence> images, SequencesOf("X", x.dims, x.lod));
  const int64_t count = static_cast<int64_t>(images.size());
  const int64_t columns = matches.dims[1];
  const int64_t width = x.dims[2];
  RETURN_IF_ERROR(op.CheckDims("MatchIndices", Dims{count, columns}));
  const double mismatch = static_cast<double>(op.Int("mismatch_value"));
  Array out(x.dtype, Dims{count, columns, width});
  Array weight(VarType::FP32, Dims{count, columns, 1});
  std::fill(out.values.begin(), out.values.end(), mismatch);
  for (int64_t i = 0; i < count * columns; ++i) {
    const int64_t row = ToInt(matches[i]);
    if (row < 0) continue;
    const Sequence& image = images[i / columns];
    if (row >= image.length() || x.dims[1] == 0) {
      return absl::InvalidArgumentError(absl::StrCat("MatchIndices has ", row, "; want less than ",
                                                     image.length(), ", the rows of the image"));
    }
    const int64_t from = ((image.begin + row) * x.dims[1] + i % columns % x.dims[1]) * width;
    std::copy_n(x.values.begin() + from, width, out.values.begin() + i * width);
    weight[i] = 1;
  }
  if (const Array* negative = op.FindInput("NegIndices"); negative != nullptr) {
    ASSIGN_OR_RETURN(const std::vector<Sequence> of_images,
                     SequencesOf("NegIndices", negative->dims, negative->lod));
    RETURN_IF_ERROR(op.CheckSize("NegIndices", negative->dims[0]));
    if (of_images.size() != images.size()) {
      return absl::InvalidArgumentError(absl::StrCat("NegIndices is of ", of_images.size(),
                                                     " images; want ", images.size(), ", as X is"));
    }
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = of_images[i].begin; k < of_images[i].end; ++k) {
        const int64_t place = ToInt((*negative)[k]);
        if (place < 0 || place >= columns) {
          return absl::InvalidArgumentError(
              absl::StrCat("NegIndices has ", place, "; want 0 to ", columns - 1));
        }
        const int64_t at = i * columns + place;
        std::fill_n(out.values.begin() + at * width, width, mismatch);
        weight[at] = 1;
      }
    }
  }
  op.SetOutput("Out", std::move(out));
  op.SetOutput("OutWeight", std::move(weight));
  return absl::OkStatus();
}

absl::Status MineHardExamples(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("ClsLoss", 2));
  const Array& losses = op.Input("ClsLoss");
  const int64_t columns = losses.dims[1];
  for (const char* slot : {"MatchIndices", "MatchDist"}) {
    RETURN_IF_ERROR(op.CheckDims(slot, losses.dims));
  }
  const Array* more = op.FindInput("LocLoss");
  if (more != nullptr) RETURN_IF_ERROR(op.CheckDims("LocLoss", losses.dims));
  boxes::Mining mining;
  mining.is_hard_example = op.String("mining_type") == "hard_example";
  mining.ratio = op.Float("neg_pos_ratio");
  mining.distance_threshold = op.Float("neg_dist_threshold");
  mining.sample_size = op.Int("sample_size");
  Array updated = op.Input("MatchIndices");
  std::vector<double> negative;
  LoD lod = {{0}};
  InTypeOf(losses, [&](auto element) {
    using T = decltype(element);
    std::vector<T> all = ElementsOf<T>(losses);
    if (more != nullptr && mining.is_hard_example) {
      const std::vector<T> added = ElementsOf<T>(*more);
      for (size_t i = 0; i < all.size(); ++i) all[i] += added[i];
    }
    const std::vector<T> distances = ElementsOf<T>(op.Input("MatchDist"));
    for (int64_t image = 0; image < losses.dims[0]; ++image) {
      std::vector<int32_t> matched(updated.values.begin() + image * columns,
                                   updated.values.begin() + (image + 1) * columns);
      const auto part = [&](const std::vector<T>& values) {
        return absl::MakeConstSpan(values).subspan(image * columns, columns);
      };
      const std::vector<int64_t> mined =
          boxes::MineExamples<T>(mining, part(all), part(distances), absl::MakeSpan(matched));
      negative.insert(negative.end(), mined.begin(), mined.end());
      lod[0].push_back(negative.size());
      std::copy(matched.begin(), matched.end(), updated.values.begin() + image * columns);
    }
  });
  Array indices(VarType::INT32, Dims{static_cast<int64_t>(negative.size()), 1});
  indices.values = std::move(negative);
  indices.lod = std::move(lod);
  op.SetCutOutput("NegIndices", std::move(indices));
  op.SetOutput("UpdatedMatchIndices", std::move(updated));
  return absl::OkStatus();
}

double Weight(const Array* weights, int64_t i) { return weights != nullptr ? (*weights)[i] : 1; }

absl::Status SmoothL1Loss(OpRun& op) {
  const Array& x = op.Input("X");
  if (x.rank() == 0) return op.CheckRank("X", 2);
  for (const char* slot : {"Y", "InsideWeight", "OutsideWeight"}) {
    if (op.FindInput(slot) != nullptr) RETURN_IF_ERROR(op.CheckDims(slot, x.dims));
  }
  const Array* inside = op.FindInput("InsideWeight");
  const Array* outside = op.FindInput("OutsideWeight");
  const double square = op.Float("sigma") * op.Float("sigma");
  const int64_t width = ViewAround(x.dims, 0).inner;
  Array diff(x.dtype, x.dims);
  Array out(x.dtype, Dims{x.dims[0], 1});
  for (int64_t i = 0; i < x.size(); ++i) {
    diff[i] = Weight(inside, i) * (x[i] - op.Input("Y")[i]);
    const double size = std::abs(diff[i]);
    const double loss = size < 1 / square ? 0.5 * square * size * size : size - 0.5 / square;
    out[i / width] += Weight(outside, i) * loss;
  }
  op.SetOutput("Diff", std::move(diff));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status SmoothL1LossGradient(OpRun& op) {
  const Array& diff = op.Input("Diff");
  if (diff.rank() == 0) return op.CheckRank("Diff", 2);
  for (const char* slot : {"InsideWeight", "OutsideWeight"}) {
    if (op.FindInput(slot) != nullptr) RETURN_IF_ERROR(op.CheckDims(slot, diff.dims));
  }
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", Dims{diff.dims[0], 1}));
  const Array* inside = op.FindInput("InsideWeight");
  const Array* outside = op.FindInput("OutsideWeight");
  const double square = op.Float("sigma") * op.Float("sigma");
  const int64_t width = ViewAround(diff.dims, 0).inner;
  Array dx(diff.dtype, diff.dims);
  Array dy(diff.dtype, diff.dims);
  for (int64_t i = 0; i < diff.size(); ++i) {
    const double d = diff[i];
    const double slope = std::abs(d) < 1 / square ? square * d : (d > 0) - (d < 0);
    dx[i] = Weight(inside, i) * Weight(outside, i) * slope * op.Input("Out@GRAD")[i / width];
    dy[i] = -dx[i];
  }
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Y@GRAD", std::move(dy));
  return absl::OkStatus();
}

}  // namespace

Kernels BoxTrainingKernels() {
  return {{"bipartite_match", BipartiteMatch},
          {"target_assign", TargetAssign},
          {"mine_hard_examples", MineHardExamples},
          {"smooth_l1_loss", SmoothL1Loss},
          {"smooth_l1_loss_grad", SmoothL1LossGradient}};
}

}  // namespace fixpoint::reference
