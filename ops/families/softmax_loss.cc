// Softmax and losses.

#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferSoftmax(InferContext& op) {
  const TensorInfo x = op.Input("X");
  if (x.has_dims()) {
    if (auto axis = NormalizeAxis(op.Int("axis"), x.rank()); !axis.ok()) return axis.status();
  }
  op.SetOutputLike("Out", x);
  return absl::OkStatus();
}

// A loss per row: the dimensions of `scores`, with 1 on `axis`.
Dims LossDims(const TensorInfo& scores, int axis) {
  Dims dims(scores.dims.begin(), scores.dims.end());
  dims[axis] = 1;
  return dims;
}

absl::Status InferSoftmaxWithCrossEntropy(InferContext& op) {
  const TensorInfo logits = op.Input("Logits");
  op.SetOutputLike("Softmax", logits);
  op.SetOutput("Loss", logits.dtype, std::nullopt);
  if (!logits.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), logits.rank()));
  op.SetOutput("Loss", logits.dtype, LossDims(logits, axis));
  return absl::OkStatus();
}

absl::Status InferCrossEntropy(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Y", x.dtype, std::nullopt);
  if (!x.has_dims()) return absl::OkStatus();
  Dims loss = LossDims(x, x.rank() - 1);
  // Labels without a trailing 1 give a loss without one.
  if (op.Input("Label").rank() == x.rank() - 1) loss.pop_back();
  if (loss.empty()) return absl::OkStatus();
  op.SetOutput("Y", x.dtype, loss);
  op.SetOutput("MatchX", x.dtype, loss);
  Dims x_shape(x.dims.begin(), x.dims.end());
  x_shape.push_back(0);
  op.SetOutput("XShape", x.dtype, x_shape);
  return absl::OkStatus();
}

// The gradient op reads a tensor with X's dimensions followed by a 0.
absl::Status InferCrossEntropy2Gradient(InferContext& op) {
  TensorInfo x = op.Input("XShape");
  if (x.has_dims()) x.dims.remove_suffix(1);
  x.dtype = op.Input("MatchX").dtype;
  op.SetOutputLike("X@GRAD", x);
  return absl::OkStatus();
}

absl::Status InferSmoothL1(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutputLike("Diff", x);
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (x.has_dims()) op.SetOutput("Out", x.dtype, Dims{x.dims[0], 1});
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> SoftmaxLossOps() {
  OpList ops;
  ops.Define("softmax(X) -> (Out)")
      .NeverNegative()
      .Doc("exp(X - max) / sum, along axis; X - max is not let below -64.")
      .Attr("axis", Int(-1))
      .Attr("data_format", String("AnyLayout"))
      .Attr("use_cudnn", Bool(false), Eras::kFluid)
      .Attr("use_cudnn", Bool(true), Eras::kPaddle2)
      .Hints("is_test, use_mkldnn, mkldnn_data_type@2")
      .Infer(InferSoftmax)
      .QuantizableOutputs({"Out"})
      .Gradient("softmax_grad(Out, Out@GRAD) -> (X@GRAD)")
      .GradientInfer(SameAs("Out@GRAD", {"X@GRAD"}));
  ops.Define("log_softmax(X) -> (Out)")
      .Doc("Logarithm of softmax.")
      .Attr("axis", Int(-1))
      .Hints("use_mkldnn")
      .Infer(InferSoftmax)
      .GradientNotKnown();
  ops.Define("softmax_with_cross_entropy(Logits, Label) -> (Softmax, Loss)")
      .Doc(
          "Softmax, and the cross entropy of it with Label: an index, or a distribution if "
          "soft_label.")
      .Attr("soft_label", Bool(false))
      .Attr("use_softmax", Bool(true), Eras::kPaddle2)
      .Attr("numeric_stable_mode", Bool(true))
      .Attr("ignore_index", Int(-100))
      .Attr("axis", Int(-1))
      .Infer(InferSoftmaxWithCrossEntropy)
      .TakeLod({"Softmax", "Loss"})
      .Gradient("softmax_with_cross_entropy_grad(Label, Softmax, Loss@GRAD) -> (Logits@GRAD)")
      .GradientInfer(SameAs("Softmax", {"Logits@GRAD"}));
  ops.Define("cross_entropy(X, Label) -> (Y)")
      .Doc("Y = -log(X[Label]), of probabilities X.")
      .Attr("soft_label", Bool(false))
      .Attr("ignore_index", Int(-100))
      .Infer(InferCrossEntropy)
      .Gradient("cross_entropy_grad(X, Label, Y@GRAD) -> (X@GRAD)");
  ops.Define("cross_entropy2(X, Label) -> (Y, XShape, MatchX)")
      .Doc("cross_entropy whose gradient reads MatchX = X[Label] in place of X.")
      .Attr("ignore_index", Int(-100))
      .Infer(InferCrossEntropy)
      .Gradient("cross_entropy_grad2(Label, MatchX, XShape, Y@GRAD) -> (X@GRAD)")
      .GradientInfer(InferCrossEntropy2Gradient);
  ops.Define("sigmoid_cross_entropy_with_logits(X, Label, pos_weight?@2) -> (Out)")
      .Doc("Cross entropy of sigmoid(X) with Label, element by element.")
      .Attr("normalize", Bool(false))
      .Attr("ignore_index", Int(-100))
      .Infer(SameAs("X", {"Out"}))
      .GradientNotKnown();
  ops.Define("smooth_l1_loss(X, Y, InsideWeight?, OutsideWeight?) -> (Diff, Out)")
      .Doc("Sum over each row of X - Y: quadratic near 0, linear beyond 1 / sigma^2.")
      .Attr("sigma", Float(1))
      .Infer(InferSmoothL1)
      .Gradient(
          "smooth_l1_loss_grad(InsideWeight, OutsideWeight, Diff, Out@GRAD) -> (X@GRAD, Y@GRAD)")
      .GradientInfer(SameAs("Diff", {"X@GRAD", "Y@GRAD"}));
  ops.Define("huber_loss(X, Y) -> (Out, Residual)")
      .Doc("Of r = Y - X: r^2 / 2 where |r| <= delta, else delta * (|r| - delta / 2).")
      .Attr("delta", Required(FLOAT))
      .Infer(SameAs("X", {"Out", "Residual"}))
      .Gradient("huber_loss_grad(Residual, Out@GRAD) -> (X@GRAD, Y@GRAD)")
      .GradientInfer(SameAs("Residual", {"X@GRAD", "Y@GRAD"}));
  return ops.Build();
}

}  // namespace fixpoint
