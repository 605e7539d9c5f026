// Loops, conditionals, and ops that choose one of several tensors.

#include "ops/infer.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

// The dimensions in which all alternatives agree; unknown if one is.
absl::Status InferSelectInput(InferContext& op) {
  const TensorInfo first = op.Input("X");
  op.SetOutput("Out", first.dtype, std::nullopt);
  if (!first.has_dims()) return absl::OkStatus();
  Dims out(first.dims.begin(), first.dims.end());
  for (int i = 1; i < op.InputCount("X"); ++i) {
    const TensorInfo x = op.Input("X", i);
    if (!x.has_dims() || x.rank() != first.rank()) return absl::OkStatus();
    for (int d = 0; d < x.rank(); ++d) {
      if (x.dims[d] != out[d]) out[d] = kUnknownDim;
    }
  }
  op.SetOutput("Out", first.dtype, out);
  return absl::OkStatus();
}

absl::Status InferSelectOutput(InferContext& op) {
  for (int i = 0; i < op.OutputCount("Out"); ++i) op.SetOutputLike("Out", i, op.Input("X"));
  return absl::OkStatus();
}

// The backward pass writes the gradient op's block, and names in its slots what that reads and
// makes; until then sub_block is the forward op's.
void DefineBlocks(OpList& ops) {
  ops.Define("while(X*?, Condition*) -> (Out*, StepScopes)")
      .Doc(
          "Runs sub_block as long as Condition, BOOL [1], holds. X: what the block reads from "
          "outside; Out: what it writes outside.")
      .Captures("X")
      .Attr("sub_block", Required(BLOCK))
      .Hints("is_test, skip_eager_deletion_vars")
      .Gradient("while_grad(X, Out, StepScopes, Out@GRAD) -> (X@GRAD)")
      .GradientAttr("original_output_grad", Strings({}));
  ops.Define("conditional_block(Cond*, Input*?) -> (Out*, Scope)")
      .Doc("Runs sub_block if Cond holds (is_scalar_condition), or if no Cond is empty.")
      .Captures("Input")
      .Attr("sub_block", Required(BLOCK))
      .Attr("is_scalar_condition", Bool(false))
      .Hints("skip_eager_deletion_vars")
      .Gradient("conditional_block_grad(Cond, Input, Out, Out@GRAD, Scope) -> (Input@GRAD)");
  ops.Define("recurrent(inputs*, initial_states*, parameters*?) -> (outputs*, step_scopes)")
      .Doc(
          "Runs sub_block for each step of inputs [steps, ...], whose variables of these names "
          "hold that step of inputs and outputs. ex_states begin as initial_states, and then are "
          "what "
          "states were after the step before.")
      .Captures("parameters")
      .Attr("has_states", Bool(false))
      .Attr("ex_states", Required(STRINGS))
      .Attr("states", Required(STRINGS))
      .Attr("sub_block", Required(BLOCK))
      .Attr("reverse", Bool(false))
      .Attr("is_train", Bool(true))
      .Hints("skip_eager_deletion_vars")
      .Gradient(
          "recurrent_grad(inputs, initial_states, parameters, outputs, step_scopes, outputs@GRAD, "
          "step_scopes@GRAD=step_scopes) -> (inputs@GRAD, initial_states@GRAD, parameters@GRAD)");
  ops.Define("select_input(X*, Mask) -> (Out)")
      .Doc("Out = X[Mask], of any size; the others need no value. Mask is INT32 [1].")
      .Infer(InferSelectInput)
      .Gradient("select_output(X=Out@GRAD, Mask) -> (Out=X@GRAD)");
  ops.Define("select_output(X, Mask) -> (Out*)")
      .Doc("Out[Mask] = X; the others get no value. Mask is INT32 [1].")
      .Infer(InferSelectOutput)
      .Gradient("select_input(X=Out@GRAD, Mask) -> (Out=X@GRAD)");
}

}  // namespace

std::vector<OpSchema> ControlFlowOps() {
  OpList ops;
  DefineBlocks(ops);
  return ops.Build();
}

}  // namespace fixpoint
