// A factor and an addend for each channel.

#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferChannelAffine(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutputLike("Out", x);
  if (!x.has_dims()) return absl::OkStatus();
  if (x.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x.dims), "; want 2 dimensions or more"));
  }
  const int64_t channels = op.String("data_layout") == "NCHW" ? x.dims[1] : x.dims.back();
  for (const char* slot : {"Scale", "Bias"}) {
    const TensorInfo of_channels = op.Input(slot);
    if (!of_channels.has_dims() ||
        (of_channels.rank() == 1 && MayBeEqual(of_channels.dims[0], channels))) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(slot, " is ", DimsText(of_channels.dims),
                                                   " and X ", DimsText(x.dims), " has ", channels,
                                                   " channels; want one for each"));
  }
  return absl::OkStatus();
}

absl::Status InferChannelAffineGradient(InferContext& op) {
  op.SetOutputLike("X@GRAD", op.Input("X"));
  op.SetOutputLike("Scale@GRAD", op.Input("Scale"));
  op.SetOutputLike("Bias@GRAD", op.Input("Scale"));
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> ChannelAffineOps() {
  OpList ops;
  ops.Define("affine_channel(X, Scale, Bias) -> (Out)")
      .Doc(
          "Out = X * Scale + Bias, one of each for a channel: of axis 1 where data_layout is NCHW, "
          "else of the last axis.")
      .Attr("data_layout", String("AnyLayout"))
      .Infer(InferChannelAffine)
      .IsOfSamples()
      .QuantizableOutputs({"Out"})
      .Gradient("affine_channel_grad(X, Scale, Out@GRAD) -> (X@GRAD, Scale@GRAD, Bias@GRAD)")
      .GradientInfer(InferChannelAffineGradient);
  return ops.Build();
}

}  // namespace fixpoint
