// Pooling of volumes; and maxima of windows with their places, of images too.

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/op_form.h"
#include "ops/op_schema_builder.h"
#include "ops/pooled_spans.h"
#include "ops/unpooling.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// The dims of what is pooled over windows of so many axes.
absl::StatusOr<Dims> PooledDims(DimsView x, int axes, bool channels_last,
                                const PoolingAttrs& attrs) {
  if (static_cast<int>(x.size()) != axes + 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x), "; want ", axes + 2, " dimensions"));
  }
  const int first = channels_last ? 1 : 2;
  ASSIGN_OR_RETURN(const Dims counts, PooledSizes(attrs, x.subspan(first, axes)));
  Dims out(x.begin(), x.end());
  std::copy(counts.begin(), counts.end(), out.begin() + first);
  return out;
}

absl::Status InferPool3d(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims()) return absl::OkStatus();
  PoolingAttrs attrs{op.Ints("ksize"), op.Ints("strides"), op.Ints("paddings")};
  attrs.is_global = op.Bool("global_pooling");
  attrs.is_adaptive = op.Bool("adaptive");
  attrs.ceil_mode = op.Bool("ceil_mode");
  attrs.padding_algorithm = op.String("padding_algorithm");
  ASSIGN_OR_RETURN(const Dims out,
                   PooledDims(x.dims, 3, AreChannelsLast(op.String("data_format")), attrs));
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

OpSchema::InferFunction InferWithPlaces(int axes) {
  return [axes](InferContext& op) -> absl::Status {
    const TensorInfo x = op.Input("X");
    op.SetOutput("Out", x.dtype, std::nullopt);
    op.SetOutput("Mask", VarType::INT32, std::nullopt);
    if (!x.has_dims()) return absl::OkStatus();
    PoolingAttrs attrs{op.Ints("ksize"), op.Ints("strides"), op.Ints("paddings")};
    attrs.is_global = op.Bool("global_pooling");
    attrs.is_adaptive = op.Bool("adaptive");
    ASSIGN_OR_RETURN(const Dims out, PooledDims(x.dims, axes, /*channels_last=*/false, attrs));
    op.SetOutput("Out", x.dtype, out);
    op.SetOutput("Mask", VarType::INT32, out);
    return absl::OkStatus();
  };
}

void DefineWithPlaces(OpList& ops, int axes) {
  const std::string type = absl::StrCat("max_pool", axes, "d_with_index");
  ops.Define(absl::StrCat(type, "(X) -> (Out, Mask)"))
      .Doc(absl::StrCat("Maxima over windows of X ", axes == 2 ? "[N,C,H,W]" : "[N,C,D,H,W]",
                        ", and the place of each among those of its channel, row by row; -1 where "
                        "a window has none above the lowest float."))
      .Attr("ksize", Required(INTS))
      .Attr("strides", Ints(std::vector<int>(axes, 1)))
      .Attr("paddings", Ints(std::vector<int>(axes, 0)))
      .Attr("global_pooling", Bool(false))
      .Attr("adaptive", Bool(false))
      .Infer(InferWithPlaces(axes))
      .QuantizableInput("X", SlotRole::ACTIVATION)
      .IsOfSamples()
      .Gradient(absl::StrCat(type, "_grad(X, Mask, Out@GRAD) -> (X@GRAD)"));
}

absl::Status InferUnpool(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims()) return absl::OkStatus();
  std::vector<int64_t> output_size;
  if (op.era() == Era::kPaddle2) output_size = op.Ints("output_size");
  ASSIGN_OR_RETURN(const Dims out, UnpooledDims(x.dims, op.Ints("ksize"), op.Ints("strides"),
                                                op.Ints("paddings"), output_size));
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> VolumePoolingOps() {
  OpList ops;
  ops.Define("pool3d(X) -> (Out)")
      .Doc(
          "Maximum or average over windows of X [N,C,D,H,W] (or NDHWC). global_pooling: over the "
          "whole volume. adaptive: ksize is the output's size. exclusive: an average counts no "
          "padding.")
      .Attr("pooling_type", Required(STRING), Eras::kFluid)
      .Attr("pooling_type", String(""), Eras::kPaddle2)
      .Attr("ksize", Required(INTS))
      .Attr("global_pooling", Bool(false))
      .Attr("strides", Ints({1, 1, 1}))
      .Attr("paddings", Ints({0, 0, 0}))
      .Attr("padding_algorithm", String("EXPLICIT"))
      .Attr("exclusive", Bool(true))
      .Attr("adaptive", Bool(false))
      .Attr("ceil_mode", Bool(false))
      .Attr("data_format", String("NCDHW"))
      .Hints("use_cudnn, use_mkldnn")
      .Infer(InferPool3d)
      .QuantizableInput("X", SlotRole::ACTIVATION)
      .QuantizableOutputs({"Out"})
      .IsOfSamples()
      .Gradient("pool3d_grad(X, Out, Out@GRAD) -> (X@GRAD)");
  DefineWithPlaces(ops, 2);
  DefineWithPlaces(ops, 3);
  ops.Define("unpool(X, Indices) -> (Out)")
      .Doc(
          "An image with each element of X [N,C,H,W] at its place, in Indices, among those of its "
          "channel, and 0 elsewhere: the maxima where max_pool2d_with_index found them.")
      .Attr("ksize", Required(INTS))
      .Attr("strides", Ints({1, 1}))
      .Attr("paddings", Ints({0, 0}))
      .Attr("unpooling_type", Required(STRING))
      .Attr("output_size", Ints({0, 0}), Eras::kPaddle2)
      .Attr("data_format", String("NCHW"), Eras::kPaddle2)
      .Infer(InferUnpool)
      .QuantizableOutputs({"Out"})
      .KeepsSign()
      .Gradient("unpool_grad(X, Indices, Out, Out@GRAD) -> (X@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
