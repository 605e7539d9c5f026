// Losses of elements, and what they are compared with.

#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// Error: an input has other dimensions than `x`.
absl::Status CheckLike(InferContext& op, absl::string_view slot, const TensorInfo& x) {
  const TensorInfo other = op.Input(slot);
  if (!x.has_dims() || !other.has_dims()) return absl::OkStatus();
  if (MayBeEqual(x.dims, other.dims)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is ", DimsText(other.dims), "; want ", DimsText(x.dims)));
}

// `loss` is like `x`, with which `target` is compared.
OpSchema::InferFunction InferLoss(const char* x, const char* target, const char* loss) {
  return [=](InferContext& op) {
    op.SetOutputLike(loss, op.Input(x));
    return CheckLike(op, target, op.Input(x));
  };
}

absl::Status InferLabelSmooth(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutputLike("Out", x);
  const TensorInfo prior = op.Input("PriorDist");
  if (!x.has_dims() || !prior.has_dims()) return absl::OkStatus();
  const absl::StatusOr<int64_t> count = ElementCount(prior.dims);
  if (count.ok() && MayBeEqual(*count, x.dims.back())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("PriorDist is ", DimsText(prior.dims), " and X ", DimsText(x.dims),
                   "; want an element for each class, along X's last axis"));
}

absl::Status InferKlDivergence(InferContext& op) {
  const TensorInfo x = op.Input("X");
  RETURN_IF_ERROR(CheckLike(op, "Target", x));
  const std::string reduction = op.String("reduction");
  if (reduction == "none") {
    op.SetOutputLike("Loss", x);
  } else {
    op.SetOutput("Loss", x.dtype, Dims{1});
  }
  return absl::OkStatus();
}

// X [rows, classes], with a label for each row.
absl::Status InferFocalLoss(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo label = op.Input("Label");
  op.SetOutputLike("Out", x);
  if (!x.has_dims() || !label.has_dims()) return absl::OkStatus();
  if (x.rank() == 2 && label.rank() == 2 && MayBeEqual(x.dims[0], label.dims[0]) &&
      MayBeEqual(label.dims[1], 1)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), " and Label ",
                                                 DimsText(label.dims),
                                                 "; want [rows, classes] and [rows, 1]"));
}

}  // namespace

std::vector<OpSchema> LossesOps() {
  OpList ops;
  ops.Define("label_smooth(X, PriorDist?) -> (Out)")
      .Doc("Out = (1 - epsilon) * X + epsilon * PriorDist, or epsilon / classes without that.")
      .Attr("epsilon", Float(0))
      .Infer(InferLabelSmooth)
      .Gradient("label_smooth_grad(Out@GRAD) -> (X@GRAD)")
      .GradientInfer(SameAs("Out@GRAD", {"X@GRAD"}));
  ops.Define("log_loss(Predicted, Labels) -> (Loss)")
      .Doc("-Labels * log(Predicted + epsilon) - (1 - Labels) * log(1 - Predicted + epsilon).")
      .Attr("epsilon", Required(FLOAT))
      .Infer(InferLoss("Predicted", "Labels", "Loss"))
      .Gradient("log_loss_grad(Predicted, Labels, Loss@GRAD) -> (Predicted@GRAD)");
  ops.Define("bce_loss(X, Label) -> (Out)")
      .Doc("-Label * log(X) - (1 - Label) * log(1 - X), each logarithm not below -100.")
      .Infer(InferLoss("X", "Label", "Out"))
      .Gradient("bce_loss_grad(X, Label, Out@GRAD) -> (X@GRAD)");
  ops.Define("kldiv_loss(X, Target) -> (Loss)")
      .Doc(
          "Target * (log(Target) - X) where Target is above 0, else 0; unless reduction is none, "
          "the sum of all, the mean, or the sum divided by the size of the first axis "
          "(batchmean).")
      .Attr("reduction", String("mean"))
      .Infer(InferKlDivergence)
      .TakeLod({})
      .Gradient("kldiv_loss_grad(X#, Target, Loss@GRAD) -> (X@GRAD)");
  ops.Define("sigmoid_focal_loss(X, Label, FgNum) -> (Out)")
      .Doc(
          "Of p = sigmoid(X): -alpha * (1 - p)^gamma * log(p) at the class Label - 1 of a row, at "
          "others -(1 - alpha) * p^gamma * log(1 - p), each divided by FgNum, if that is above 1. "
          "0 in rows whose Label is -1.")
      .Attr("gamma", Float(2))
      .Attr("alpha", Float(0.25f))
      .Infer(InferFocalLoss)
      .Gradient("sigmoid_focal_loss_grad(X, Label, FgNum, Out@GRAD) -> (X@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
