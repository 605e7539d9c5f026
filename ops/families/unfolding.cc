// Windows of images as columns, and back.

#include "ops/unfolding.h"

#include <vector>

#include "ops/infer.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferUnfold(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Y", x.dtype, std::nullopt);
  if (!x.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Unfolding unfolding,
                   Unfolding::Of(x.dims, op.Ints("kernel_sizes"), op.Ints("strides"),
                                 op.Ints("paddings"), op.Ints("dilations")));
  ASSIGN_OR_RETURN(const Dims columns, unfolding.OutDims());
  op.SetOutput("Y", x.dtype, columns);
  return absl::OkStatus();
}

// Y is what unfold would make X of.
absl::Status InferFold(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Y", x.dtype, std::nullopt);
  if (!x.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const Unfolding unfolding,
      Unfolding::OfColumns(x.dims, op.Ints("output_sizes"), op.Ints("kernel_sizes"),
                           op.Ints("strides"), op.Ints("paddings"), op.Ints("dilations")));
  op.SetOutput("Y", x.dtype, unfolding.ImageDims());
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> UnfoldingOps() {
  OpList ops;
  ops.Define("unfold(X) -> (Y)")
      .Doc(
          "The windows of X [N,C,H,W] as columns: [N, C * kernel, windows], with 0 where a window "
          "reaches beyond the image. paddings are top, left, bottom, right.")
      .Attr("kernel_sizes", Required(INTS))
      .Attr("strides", Required(INTS))
      .Attr("paddings", Required(INTS))
      .Attr("dilations", Required(INTS))
      .Infer(InferUnfold)
      .QuantizableOutputs({"Y"})
      .Gradient("unfold_grad(X#, Y@GRAD) -> (X@GRAD)");
  ops.Define("fold(X) -> (Y)")
      .Doc(
          "The images of output_sizes whose windows are the columns of X [N, C * kernel, windows], "
          "added up where windows overlap. paddings are top, left, bottom, right.")
      .Attr("output_sizes", Required(INTS))
      .Attr("kernel_sizes", Required(INTS))
      .Attr("strides", Required(INTS))
      .Attr("paddings", Required(INTS))
      .Attr("dilations", Required(INTS))
      .Infer(InferFold)
      .QuantizableOutputs({"Y"})
      .Gradient("fold_grad(X#, Y@GRAD) -> (X@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
