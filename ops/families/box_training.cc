// Which prior boxes of a detector go with true ones in training, and whose losses count.

#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/families/box_shapes.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// [images, columns]: the offsets of DistMat decide how many images there are.
absl::Status InferBipartiteMatch(InferContext& op) {
  const TensorInfo distances = op.Input("DistMat");
  RETURN_IF_ERROR(CheckRank("DistMat", distances, 2));
  const std::string type = op.String("match_type");
  if (type != "bipartite" && type != "per_prediction") {
    return absl::InvalidArgumentError(
        absl::StrCat("match_type is \"", type, "\"; want bipartite or per_prediction"));
  }
  op.SetOutput("ColToRowMatchIndices", VarType::INT32, std::nullopt);
  op.SetOutput("ColToRowMatchDist", distances.dtype, std::nullopt);
  if (!distances.has_dims()) return absl::OkStatus();
  const Dims dims = {kUnknownDim, distances.dims[1]};
  op.SetOutput("ColToRowMatchIndices", VarType::INT32, dims);
  op.SetOutput("ColToRowMatchDist", distances.dtype, dims);
  return absl::OkStatus();
}

absl::Status InferTargetAssign(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo matches = op.Input("MatchIndices");
  RETURN_IF_ERROR(CheckRank("X", x, 3));
  RETURN_IF_ERROR(CheckRank("MatchIndices", matches, 2));
  op.SetOutput("Out", x.dtype, std::nullopt);
  op.SetOutput("OutWeight", VarType::FP32, std::nullopt);
  if (!x.has_dims() || !matches.has_dims()) return absl::OkStatus();
  op.SetOutput("Out", x.dtype, Dims{matches.dims[0], matches.dims[1], x.dims[2]});
  op.SetOutput("OutWeight", VarType::FP32, Dims{matches.dims[0], matches.dims[1], 1});
  return absl::OkStatus();
}

absl::Status InferMineHardExamples(InferContext& op) {
  const TensorInfo matches = op.Input("MatchIndices");
  // The reference declares losses with other extents than they have (ssd_loss of 1.x).
  for (const auto& [slot, other] :
       {std::pair("LocLoss", "ClsLoss"), {"MatchDist", "MatchIndices"}}) {
    const TensorInfo tensor = op.Input(slot);
    const TensorInfo wanted = op.Input(other);
    if (!tensor.has_dims() || !wanted.has_dims()) continue;
    if (tensor.rank() == 2 && MayBeEqual(tensor.dims, wanted.dims)) continue;
    return absl::InvalidArgumentError(absl::StrCat(slot, " is ", DimsText(tensor.dims), " and ",
                                                   other, " ", DimsText(wanted.dims),
                                                   "; want [images, boxes] of both"));
  }
  const std::string type = op.String("mining_type");
  const bool is_hard = type == "hard_example";
  if (!is_hard && type != "max_negative") {
    return absl::InvalidArgumentError(
        absl::StrCat("mining_type is \"", type, "\"; want max_negative or hard_example"));
  }
  if (is_hard) RETURN_IF_ERROR(PositiveAttr(op, "sample_size").status());
  for (const char* name : {"neg_pos_ratio", "neg_dist_threshold"}) {
    const double value = op.Float(name);
    if (is_hard || value > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, "; want above 0"));
  }
  op.SetOutput("NegIndices", VarType::INT32, Dims{kUnknownDim, 1});
  op.SetOutput("UpdatedMatchIndices", VarType::INT32, std::nullopt);
  if (matches.has_dims()) {
    op.SetOutput("UpdatedMatchIndices", VarType::INT32,
                 Dims(matches.dims.begin(), matches.dims.end()));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> BoxTrainingOps() {
  OpList ops;
  ops.Define("bipartite_match(DistMat) -> (ColToRowMatchIndices, ColToRowMatchDist)")
      .Doc("Matches prior boxes with true ones, greedily.")
      .Attr("match_type", String("bipartite"))
      .Attr("dist_threshold", Float(0.5f))
      .TakeLod({})
      .Infer(InferBipartiteMatch);
  ops.Define("target_assign(X, MatchIndices, NegIndices?) -> (Out, OutWeight)")
      .Doc("Each prior box's target, and its weight.")
      .Attr("mismatch_value", Int(0))
      .TakeLod({})
      .Infer(InferTargetAssign);
  ops.Define(
         "mine_hard_examples(ClsLoss, LocLoss?, MatchIndices, MatchDist) -> "
         "(NegIndices, UpdatedMatchIndices)")
      .Doc("The unmatched boxes of the largest loss.")
      .Attr("neg_pos_ratio", Float(1))
      .Attr("neg_dist_threshold", Float(0.5f))
      .Attr("sample_size", Int(0))
      .Attr("mining_type", String("max_negative"))
      .TakeLod({})
      .Infer(InferMineHardExamples);
  return ops.Build();
}

}  // namespace fixpoint
