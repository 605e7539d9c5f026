// Arrays of tensors, and sequences step by step in the order of their lengths.

#include "absl/strings/string_view.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

absl::Status InferScalarInt64(InferContext& op) {
  op.SetOutput("Out", VarType::INT64, Dims{1});
  return absl::OkStatus();
}

// The dims of `like`, with another number of rows.
void SetRows(InferContext& op, const TensorInfo& like, absl::string_view output) {
  op.SetOutput(output, like.dtype, std::nullopt);
  if (like.rank() < 1) return;
  Dims dims(like.dims.begin(), like.dims.end());
  dims[0] = kUnknownDim;
  op.SetOutput(output, like.dtype, dims);
}

// As many rows as a step has sequences.
absl::Status InferRows(InferContext& op) {
  SetRows(op, op.Input("X"), "Out");
  return absl::OkStatus();
}

absl::Status InferSplit(InferContext& op) {
  for (const char* output : {"OutTrue", "OutFalse"}) SetRows(op, op.Input("X"), output);
  return absl::OkStatus();
}

absl::Status InferMerge(InferContext& op) {
  SetRows(op, op.Input("InTrue"), "Out");
  return absl::OkStatus();
}

void DefineElements(OpList& ops) {
  ops.Define("write_to_array(X, I) -> (Out)")
      .Doc("Out[I] = X; Out is an array of tensors, which grows. I is INT64 [1].")
      .Gradient("read_from_array(X=Out@GRAD, I, X_W=X) -> (Out=X@GRAD)");
  ops.Define("read_from_array(X, I, X_W?) -> (Out)")
      .Doc(
          "Out = X[I]; X is an array of tensors. Where none was written: zeros like X_W, or else a "
          "tensor [0].")
      .Gradient("write_to_array(X=Out@GRAD, I) -> (Out=X@GRAD)");
  ops.Define("lod_array_length(X) -> (Out)")
      .Doc("How many tensors the array X has: INT64 [1].")
      .Infer(InferScalarInt64);
  ops.Define("tensor_array_to_tensor(X) -> (Out, OutIndex)")
      .Doc(
          "The tensors of the array X joined along axis, or along a new one where use_stack. "
          "OutIndex: INT32, how long each is along it.")
      .Attr("axis", Int(0))
      .Attr("use_stack", Bool(false))
      .GradientNotKnown();
}

void DefineSequences(OpList& ops) {
  ops.Define("lod_rank_table(X) -> (Out)")
      .Doc("X's sequences at a level by length, longest first, those of one length in their order.")
      .Attr("level", Int(0));
  ops.Define("max_sequence_len(RankTable) -> (Out)")
      .Doc("Length of the longest: INT64 [1].")
      .Infer(InferScalarInt64);
  ops.Define("lod_tensor_to_array(X, RankTable) -> (Out)")
      .Doc("X's sequences step by step: Out[t] holds row t of each that is longer than t.")
      .Gradient("array_to_lod_tensor(X=Out@GRAD, RankTable) -> (Out=X@GRAD)");
  ops.Define("array_to_lod_tensor(X, RankTable) -> (Out)")
      .Doc("The inverse of lod_tensor_to_array.")
      .Gradient("lod_tensor_to_array(X=Out@GRAD, RankTable) -> (Out=X@GRAD)");
  ops.Define("shrink_rnn_memory(X, RankTable, I) -> (Out)")
      .Doc("The first rows of X, one for each sequence that is longer than I, INT64 [1].")
      .Infer(InferRows)
      .Gradient("shrink_rnn_memory_grad(X, Out@GRAD) -> (X@GRAD)");
  ops.Define("reorder_lod_tensor_by_rank(X, RankTable) -> (Out)")
      .Doc("X's rows, or its sequences where it has some, in the order of the table.")
      .Infer(SameAs("X", {"Out"}))
      .KeepsRange()
      .TakeLod({})
      .GradientNotKnown();
  ops.Define("split_lod_tensor(X, Mask) -> (OutTrue, OutFalse)")
      .Doc("X's rows, or its sequences at a level, where Mask BOOL [n, 1] holds, and the others.")
      .Attr("level", Int(0))
      .Infer(InferSplit)
      .MovesTo({"OutTrue", "OutFalse"})
      .TakeLod({})
      .Gradient(
          "merge_lod_tensor(X, Mask, InTrue=OutTrue@GRAD, InFalse=OutFalse@GRAD) -> "
          "(Out=X@GRAD)");
  ops.Define("merge_lod_tensor(X, Mask, InTrue, InFalse) -> (Out)")
      .Doc("The inverse of split_lod_tensor; X has the offsets above the level.")
      .Attr("level", Int(0))
      .Infer(InferMerge)
      .KeepsSign()
      .JoinsValues({"InTrue", "InFalse"})
      .TakeLod({})
      .Gradient(
          "split_lod_tensor(X=Out@GRAD, Mask) -> (OutTrue=InTrue@GRAD, OutFalse=InFalse@GRAD)");
}

}  // namespace

std::vector<OpSchema> TensorArrayOps() {
  OpList ops;
  DefineElements(ops);
  DefineSequences(ops);
  return ops.Build();
}

}  // namespace fixpoint
