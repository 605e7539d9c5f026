// What trains a detector: prior boxes are matched with true ones, and the losses of some count.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/boxes/matching.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/run_shape.h"

namespace fixpoint::executor {
namespace {

absl::Status CheckRank(const OpPlanner& op, absl::string_view slot, size_t rank) {
  const Dims& dims = op.InputDims(slot);
  if (dims.size() == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is ", DimsText(dims), "; want ", rank, " dimensions"));
}

absl::Status PlanBipartiteMatch(OpPlanner& op) {
  RETURN_IF_ERROR(CheckRank(op, "DistMat", 2));
  const Dims dims = op.InputDims("DistMat");
  const LoD& lod = op.InputLod("DistMat");
  std::vector<Sequence> images = {{0, dims[0]}};
  if (!lod.empty()) {
    ASSIGN_OR_RETURN(images, SequencesOf("DistMat", dims, lod));
  }
  const std::string type = op.attributes().String("match_type");
  if (type != "bipartite" && type != "per_prediction") {
    return absl::InvalidArgumentError(
        absl::StrCat("match_type is \"", type, "\"; want bipartite or per_prediction"));
  }
  std::optional<float> threshold;
  if (type == "per_prediction") threshold = op.Number("dist_threshold");
  ASSIGN_OR_RETURN(const Buffer distances, op.ReadFloats("DistMat"));
  const Dims out_dims = {static_cast<int64_t>(images.size()), dims[1]};
  const Buffer matched = op.WriteAs("ColToRowMatchIndices", {VarType::INT32, out_dims});
  const Buffer distance = op.WriteAs("ColToRowMatchDist", {VarType::FP32, out_dims});
  op.AddStep({{distances}, {matched, distance}, [=, columns = dims[1]](const StepContext& run) {
                for (size_t i = 0; i < images.size(); ++i) {
                  boxes::Match<float>(images[i].length(), columns,
                                      run.Floats(distances).subspan(images[i].begin * columns,
                                                                    images[i].length() * columns),
                                      threshold,
                                      run.Of<int32_t>(matched).subspan(i * columns, columns),
                                      run.Floats(distance).subspan(i * columns, columns));
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// The negative places, a row each, of images whose rows offsets cut: known, or decided in the run.
struct NegativePlaces {
  Buffer places;
  ReadShape shape;

  absl::StatusOr<std::vector<Sequence>> ImagesIn(const StepContext& run) const {
    return SequencesOf("NegIndices", shape.DimsIn(run), shape.LodIn(run));
  }
};

absl::Status CheckImages(absl::Span<const Sequence> of_places, size_t images) {
  if (of_places.size() == images) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("NegIndices is of ", of_places.size(), " images; want ", images, ", as X is"));
}

absl::StatusOr<std::optional<NegativePlaces>> NegativePlacesOf(OpPlanner& op, size_t images) {
  if (!op.HasInput("NegIndices")) return std::nullopt;
  NegativePlaces negative{Buffer(), ReadShape::Of(op, "NegIndices")};
  RETURN_IF_ERROR(op.CheckSize("NegIndices", negative.shape.most[0]));
  ASSIGN_OR_RETURN(negative.places, op.Read("NegIndices", VarType::INT32));
  if (negative.shape.decided) return negative;
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences,
                   SequencesOf("NegIndices", negative.shape.most, negative.shape.lod));
  RETURN_IF_ERROR(CheckImages(sequences, images));
  return negative;
}

struct Targets {
  std::vector<Sequence> images;  // rows of X
  int64_t columns;               // of MatchIndices
  int64_t boxes;                 // of a row of X
  int64_t width;
};

// Writes the targets that matched places have, and the mismatch value elsewhere.
template <typename T>
absl::Status Assign(const Targets& targets, absl::Span<const T> x,
                    absl::Span<const int32_t> matches, T mismatch, absl::Span<T> out,
                    absl::Span<float> weight) {
  std::fill(out.begin(), out.end(), mismatch);
  std::fill(weight.begin(), weight.end(), 0.0f);
  for (size_t i = 0; i < matches.size(); ++i) {
    const int64_t row = matches[i];
    if (row < 0) continue;
    const Sequence& image = targets.images[i / targets.columns];
    if (row >= image.length() || targets.boxes == 0) {
      return absl::InvalidArgumentError(absl::StrCat("MatchIndices has ", row, "; want less than ",
                                                     image.length(), ", the rows of the image"));
    }
    const int64_t box = static_cast<int64_t>(i) % targets.columns % targets.boxes;
    const int64_t from = ((image.begin + row) * targets.boxes + box) * targets.width;
    std::copy_n(x.begin() + from, targets.width, out.begin() + i * targets.width);
    weight[i] = 1;
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status AssignNegative(const Targets& targets, absl::Span<const int32_t> places,
                            absl::Span<const Sequence> images, T mismatch, absl::Span<T> out,
                            absl::Span<float> weight) {
  RETURN_IF_ERROR(CheckImages(images, targets.images.size()));
  for (size_t i = 0; i < images.size(); ++i) {
    for (int64_t k = images[i].begin; k < images[i].end; ++k) {
      if (places[k] < 0 || places[k] >= targets.columns) {
        return absl::InvalidArgumentError(
            absl::StrCat("NegIndices has ", places[k], "; want 0 to ", targets.columns - 1));
      }
      const int64_t at = static_cast<int64_t>(i) * targets.columns + places[k];
      std::fill_n(out.begin() + at * targets.width, targets.width, mismatch);
      weight[at] = 1;
    }
  }
  return absl::OkStatus();
}

absl::Status PlanTargetAssign(OpPlanner& op) {
  RETURN_IF_ERROR(CheckRank(op, "X", 3));
  RETURN_IF_ERROR(CheckRank(op, "MatchIndices", 2));
  const TensorType type = op.InputType("X");
  Targets targets;
  ASSIGN_OR_RETURN(targets.images, SequencesOf("X", type.dims, op.InputLod("X")));
  const auto count = static_cast<int64_t>(targets.images.size());
  targets.columns = op.InputDims("MatchIndices")[1];
  targets.boxes = type.dims[1];
  targets.width = type.dims[2];
  RETURN_IF_ERROR(op.CheckDims("MatchIndices", {count, targets.columns}));
  RETURN_IF_ERROR(ElementCount({count, targets.columns, targets.width}).status());
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  ASSIGN_OR_RETURN(const Buffer matches, op.Read("MatchIndices", VarType::INT32));
  ASSIGN_OR_RETURN(const std::optional<NegativePlaces> negative,
                   NegativePlacesOf(op, targets.images.size()));
  std::vector<Buffer> reads = {x, matches};
  if (negative) {
    reads.push_back(negative->places);
    for (const Buffer buffer : negative->shape.buffers()) reads.push_back(buffer);
  }
  const Buffer out = op.WriteAs("Out", {type.dtype, {count, targets.columns, targets.width}});
  const Buffer weight = op.WriteAs("OutWeight", {VarType::FP32, {count, targets.columns, 1}});
  const int64_t mismatch = op.attributes().Int("mismatch_value");
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({reads, {out, weight}, [=](const StepContext& run) {
                  const T value = static_cast<T>(mismatch);
                  const absl::Status status =
                      Assign<T>(targets, run.Of<T>(x), run.Of<int32_t>(matches), value,
                                run.Of<T>(out), run.Floats(weight));
                  if (!status.ok() || !negative) return status;
                  ASSIGN_OR_RETURN(const std::vector<Sequence> images, negative->ImagesIn(run));
                  return AssignNegative<T>(targets, run.Of<int32_t>(negative->places), images,
                                           value, run.Of<T>(out), run.Floats(weight));
                }});
    return absl::OkStatus();
  });
}

absl::Status PlanMineHardExamples(OpPlanner& op) {
  RETURN_IF_ERROR(CheckRank(op, "ClsLoss", 2));
  const Dims dims = op.InputDims("ClsLoss");
  const int64_t columns = dims[1];
  RETURN_IF_ERROR(op.CheckDims("MatchIndices", dims));
  RETURN_IF_ERROR(op.CheckDims("MatchDist", dims));
  ASSIGN_OR_RETURN(const TensorType updated_type, op.OutputType("UpdatedMatchIndices"));
  boxes::Mining mining;
  mining.is_hard_example = op.attributes().String("mining_type") == "hard_example";
  mining.ratio = op.attributes().Float("neg_pos_ratio");
  mining.distance_threshold = op.attributes().Float("neg_dist_threshold");
  mining.sample_size = op.attributes().Int("sample_size");
  ASSIGN_OR_RETURN(const Buffer losses, op.ReadFloats("ClsLoss"));
  ASSIGN_OR_RETURN(const Buffer matches, op.Read("MatchIndices", VarType::INT32));
  ASSIGN_OR_RETURN(const Buffer distances, op.ReadFloats("MatchDist"));
  std::vector<Buffer> reads = {losses, matches, distances};
  if (op.HasInput("LocLoss") && mining.is_hard_example) {
    RETURN_IF_ERROR(op.CheckDims("LocLoss", dims));
    ASSIGN_OR_RETURN(const Buffer more, op.ReadFloats("LocLoss"));
    reads.push_back(more);
  }
  const int64_t most =
      dims[0] * (mining.is_hard_example ? std::min(mining.sample_size, columns) : columns);
  const Buffer negative = op.WriteAs("NegIndices", {VarType::INT32, {most, 1}});
  const RunShape shape = op.DecideShape("NegIndices", {dims[0] + 1});
  const Buffer updated = op.WriteAs("UpdatedMatchIndices", updated_type);
  op.AddStep(
      {reads, {negative, shape.dims, shape.offsets[0], updated}, [=](const StepContext& run) {
         const absl::Span<int32_t> matched = run.Of<int32_t>(updated);
         const absl::Span<const int32_t> before = run.Of<int32_t>(matches);
         std::copy(before.begin(), before.end(), matched.begin());
         std::vector<int64_t> places;
         std::vector<int64_t> offsets = {0};
         std::vector<float> sums(columns);
         for (int64_t i = 0; i < dims[0]; ++i) {
           const auto part = [&](Buffer buffer) {
             return run.Floats(buffer).subspan(i * columns, columns);
           };
           const absl::Span<const float> of_image = part(losses);
           std::copy(of_image.begin(), of_image.end(), sums.begin());
           for (int64_t k = 0; reads.size() > 3 && k < columns; ++k) {
             sums[k] += part(reads[3])[k];
           }
           const std::vector<int64_t> mined = boxes::MineExamples<float>(
               mining, sums, part(distances), matched.subspan(i * columns, columns));
           places.insert(places.end(), mined.begin(), mined.end());
           offsets.push_back(static_cast<int64_t>(places.size()));
         }
         WriteRows<int32_t>(run, shape, {offsets.back(), 1}, places, negative);
         DecideOffsets(run, shape, offsets);
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

// The weights of a difference, each absent or of its size.
struct Weights {
  std::optional<Buffer> inside;
  std::optional<Buffer> outside;

  static float At(const StepContext& run, const std::optional<Buffer>& weights, size_t i) {
    return weights ? run.Floats(*weights)[i] : 1.0f;
  }
};

absl::StatusOr<Weights> ReadWeights(OpPlanner& op, const Dims& dims, std::vector<Buffer>* reads) {
  Weights weights;
  for (const bool is_inside : {true, false}) {
    const char* const slot = is_inside ? "InsideWeight" : "OutsideWeight";
    if (!op.HasInput(slot)) continue;
    RETURN_IF_ERROR(op.CheckDims(slot, dims));
    ASSIGN_OR_RETURN(const Buffer buffer, op.ReadFloats(slot));
    (is_inside ? weights.inside : weights.outside) = buffer;
    reads->push_back(buffer);
  }
  return weights;
}

absl::Status PlanSmoothL1Loss(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  RETURN_IF_ERROR(op.CheckDims("Y", type.dims));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Y"));
  std::vector<Buffer> reads = {x, y};
  ASSIGN_OR_RETURN(const Weights weights, ReadWeights(op, type.dims, &reads));
  const Buffer diff = op.WriteAs("Diff", type);
  const Buffer out = op.WriteAs("Out", {VarType::FP32, {type.dims[0], 1}});
  const float square = op.Number("sigma") * op.Number("sigma");
  op.AddStep({reads, {diff, out}, [=](const StepContext& run) {
                const absl::Span<const float> a = run.Floats(x);
                const absl::Span<const float> b = run.Floats(y);
                const absl::Span<float> differences = run.Floats(diff);
                const absl::Span<float> sums = run.Floats(out);
                const size_t width = sums.empty() ? 0 : a.size() / sums.size();
                for (size_t row = 0; row < sums.size(); ++row) {
                  double sum = 0;
                  for (size_t i = row * width; i < (row + 1) * width; ++i) {
                    const float d = Weights::At(run, weights.inside, i) * (a[i] - b[i]);
                    differences[i] = d;
                    const float size = std::abs(d);
                    const float loss =
                        size < 1 / square ? 0.5f * square * size * size : size - 0.5f / square;
                    sum += static_cast<double>(Weights::At(run, weights.outside, i) * loss);
                  }
                  sums[row] = static_cast<float>(sum);
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanSmoothL1LossGradient(OpPlanner& op) {
  const TensorType type = op.InputType("Diff");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", {type.dims[0], 1}));
  ASSIGN_OR_RETURN(const Buffer diff, op.ReadFloats("Diff"));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  std::vector<Buffer> reads = {diff, dout};
  ASSIGN_OR_RETURN(const Weights weights, ReadWeights(op, type.dims, &reads));
  const Buffer dx = op.WriteAs("X@GRAD", type);
  const Buffer dy = op.WriteAs("Y@GRAD", type);
  const float square = op.Number("sigma") * op.Number("sigma");
  op.AddStep({reads, {dx, dy}, [=](const StepContext& run) {
                const absl::Span<const float> differences = run.Floats(diff);
                const absl::Span<const float> rows = run.Floats(dout);
                const size_t width = rows.empty() ? 1 : differences.size() / rows.size();
                for (size_t i = 0; i < differences.size(); ++i) {
                  const float d = differences[i];
                  const float slope =
                      std::abs(d) < 1 / square ? square * d : static_cast<float>((d > 0) - (d < 0));
                  const float gradient = Weights::At(run, weights.inside, i) *
                                         Weights::At(run, weights.outside, i) * slope *
                                         rows[i / width];
                  run.Floats(dx)[i] = gradient;
                  run.Floats(dy)[i] = -gradient;
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans BoxTrainingPlans() {
  return {{"bipartite_match", PlanBipartiteMatch},
          {"target_assign", PlanTargetAssign},
          {"mine_hard_examples", PlanMineHardExamples},
          {"smooth_l1_loss", PlanSmoothL1Loss},
          {"smooth_l1_loss_grad", PlanSmoothL1LossGradient}};
}

}  // namespace fixpoint::executor
