// Searches with beams: the best continuations of sentences, step by step, and the sentences.

#include "absl/strings/str_cat.h"
#include "ops/beam_size.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status CheckBeamSize(InferContext& op) {
  return CheckedBeamSize(op.Int("beam_size")).status();
}

absl::Status InferBeamSearch(InferContext& op) {
  RETURN_IF_ERROR(CheckBeamSize(op));
  op.SetOutput("selected_ids", VarType::INT64, Dims{kUnknownDim, 1});
  op.SetOutput("selected_scores", op.Input("pre_scores").dtype, Dims{kUnknownDim, 1});
  op.SetOutput("parent_idx", VarType::INT32, Dims{kUnknownDim});
  return absl::OkStatus();
}

absl::Status InferSentences(InferContext& op) {
  RETURN_IF_ERROR(CheckBeamSize(op));
  op.SetOutput("SentenceIds", VarType::INT64, Dims{kUnknownDim});
  op.SetOutput("SentenceScores", op.Input("Scores").dtype, Dims{kUnknownDim});
  return absl::OkStatus();
}

absl::Status InferGatherTree(InferContext& op) {
  const TensorInfo ids = op.Input("Ids");
  op.SetOutputLike("Out", ids);
  if (!ids.has_dims()) return absl::OkStatus();
  if (ids.rank() == 3) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Ids is ", DimsText(ids.dims), "; want [steps, batch, beams]"));
}

}  // namespace

std::vector<OpSchema> BeamOps() {
  OpList ops;
  ops.Define(
         "beam_search(pre_ids, pre_scores, ids?, scores) -> (selected_ids, selected_scores, "
         "parent_idx?)")
      .Doc(
          "The beam_size best words after the prefixes of each source, whose rows the offsets of "
          "scores at a level cut; none for a source whose prefixes have all ended.")
      .Attr("level", Required(INT))
      .Attr("beam_size", Required(INT))
      .Attr("end_id", Required(INT))
      .Attr("is_accumulated", Bool(true))
      .Infer(InferBeamSearch)
      .TakeLod({});
  ops.Define("beam_search_decode(Ids, Scores) -> (SentenceIds, SentenceScores)")
      .Doc(
          "The sentences that arrays of what beam_search selected consist of: beam_size for each "
          "source, by their last scores.")
      .Attr("beam_size", Required(INT))
      .Attr("end_id", Required(INT))
      .Infer(InferSentences)
      .TakeLod({});
  ops.Define("gather_tree(Ids, Parents) -> (Out)")
      .Doc(
          "The ids of the ancestors of each beam of the last step: Ids and Parents [steps, batch, "
          "beams].")
      .Infer(InferGatherTree)
      .TakeLod({});
  return ops.Build();
}

}  // namespace fixpoint
