// Loops, conditionals, arrays of tensors, and sequences in the order of their lengths.

#include "ops/infer.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

absl::Status InferScalarInt64(InferContext& op) {
  op.SetOutput("Out", VarType::INT64, Dims{1});
  return absl::OkStatus();
}

// The gradient op's block is a new one, which the backward pass fills; the op's maker cannot.
void LeaveToBackwardPass(const OpDesc&, Era, std::vector<OpDesc>* gradients) { gradients->clear(); }

void DefineBlocks(OpList& ops) {
  ops.Define("while(X*?, Condition*) -> (Out*, StepScopes)")
      .Doc(
          "Runs sub_block as long as Condition, BOOL [1], holds. X: what the block reads from "
          "outside; Out: what it writes outside.")
      .Captures("X")
      .Attr("sub_block", Required(BLOCK))
      .Hints("is_test, skip_eager_deletion_vars")
      .Gradient("while_grad(X, Out, StepScopes, Out@GRAD) -> (X@GRAD)")
      .GradientBy(LeaveToBackwardPass)
      .GradientNotKnown();
  ops.Define("conditional_block(Cond*, Input*?) -> (Out*, Scope)")
      .Doc("Runs sub_block if Cond holds (is_scalar_condition), or if no Cond is empty.")
      .Captures("Input")
      .Attr("sub_block", Required(BLOCK))
      .Attr("is_scalar_condition", Bool(false))
      .Hints("skip_eager_deletion_vars")
      .Gradient("conditional_block_grad(Cond, Input, Out, Out@GRAD, Scope) -> (Input@GRAD)")
      .GradientBy(LeaveToBackwardPass)
      .GradientNotKnown();
  ops.Define("recurrent(inputs*, initial_states*, parameters*?) -> (outputs*, step_scopes)")
      .Doc("Runs sub_block once per time step of inputs.")
      .Captures("parameters")
      .Attr("has_states", Bool(false))
      .Attr("ex_states", Required(STRINGS))
      .Attr("states", Required(STRINGS))
      .Attr("sub_block", Required(BLOCK))
      .Attr("reverse", Bool(false))
      .Attr("is_train", Bool(true))
      .Hints("skip_eager_deletion_vars")
      .GradientNotKnown();
  ops.Define("select_input(X*, Mask) -> (Out)").Doc("Out = X[Mask].").GradientNotKnown();
  ops.Define("select_output(X, Mask) -> (Out*)").Doc("Out[Mask] = X.").GradientNotKnown();
}

void DefineArrays(OpList& ops) {
  ops.Define("write_to_array(X, I) -> (Out)")
      .Doc("Out[I] = X; Out is an array of tensors.")
      .Gradient("read_from_array(X=Out@GRAD, I, X_W=X) -> (Out=X@GRAD)");
  ops.Define("read_from_array(X, I, X_W?) -> (Out)")
      .Doc("Out = X[I]; X is an array of tensors.")
      .Gradient("write_to_array(X=Out@GRAD, I) -> (Out=X@GRAD)");
  ops.Define("lod_rank_table(X) -> (Out)")
      .Doc("X's sequences by length, longest first.")
      .Attr("level", Int(0));
  ops.Define("max_sequence_len(RankTable) -> (Out)")
      .Doc("Length of the longest: INT64 [1].")
      .Infer(InferScalarInt64);
  ops.Define("lod_tensor_to_array(X, RankTable) -> (Out)")
      .Doc("X's sequences step by step: Out[t] holds the rows of step t.")
      .Gradient("array_to_lod_tensor(X=Out@GRAD, RankTable) -> (Out=X@GRAD)");
  ops.Define("array_to_lod_tensor(X, RankTable) -> (Out)")
      .Doc("The inverse of lod_tensor_to_array.")
      .Gradient("lod_tensor_to_array(X=Out@GRAD, RankTable) -> (Out=X@GRAD)");
  ops.Define("shrink_rnn_memory(X, RankTable, I) -> (Out)")
      .Doc("The rows of X whose sequences are longer than I.")
      .Gradient("shrink_rnn_memory_grad(X, Out@GRAD) -> (X@GRAD)");
  ops.Define("split_lod_tensor(X, Mask) -> (OutTrue, OutFalse)")
      .Doc("X's sequences by Mask.")
      .Attr("level", Int(0))
      .GradientNotKnown();
  ops.Define("merge_lod_tensor(X, Mask, InTrue, InFalse) -> (Out)")
      .Doc("The inverse of split_lod_tensor.")
      .Attr("level", Int(0))
      .GradientNotKnown();
}

}  // namespace

std::vector<OpSchema> ControlFlowOps() {
  OpList ops;
  DefineBlocks(ops);
  DefineArrays(ops);
  return ops.Build();
}

}  // namespace fixpoint
