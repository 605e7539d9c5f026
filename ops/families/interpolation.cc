// Resizing of images.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/op_schema_builder.h"
#include "ops/resizing.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

// Version 1 has one number, version 2 a list.
std::vector<double> ScaleOf(InferContext& op, bool is_v2) {
  if (is_v2) return op.Floats("scale");
  return {op.Float("scale")};
}

// New sizes of the spatial axes, whose numbers are from `fewest` to `most`. They are not known if a
// tensor gives them.
OpSchema::InferFunction InferResize(bool is_v2, int fewest, int most) {
  return [=](InferContext& op) -> absl::Status {
    const TensorInfo x = op.Input("X");
    op.SetOutput("Out", x.dtype, std::nullopt);
    if (!x.has_dims()) return absl::OkStatus();
    const int axes = x.rank() - 2;
    if (axes < fewest || axes > most) {
      return absl::InvalidArgumentError(
          absl::StrCat("X is ", DimsText(x.dims), "; want ", fewest + 2,
                       most == fewest ? "" : absl::StrCat(" or ", most + 2), " dimensions"));
    }
    const bool is_channels_last = IsChannelsLast(op.String("data_layout"));
    const DimsView from = SpatialDims(x.dims, is_channels_last);
    const int listed = op.InputCount("SizeTensor");
    if (listed != 0 && listed != axes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "SizeTensor has ", listed, " tensors and X is ", DimsText(x.dims), "; want ", axes));
    }
    std::vector<ResizedAxis> sizes;
    if (listed != 0 || op.HasInput("OutSize") || op.HasInput("Scale")) {
      for (const int64_t size : from) sizes.push_back({size, kUnknownDim});
    } else {
      ResizeRequest request;
      request.is_v2 = is_v2;
      request.scales = ScalesOfAttribute(is_v2, ScaleOf(op, is_v2), from.size());
      const std::vector<int64_t> all = {op.Int("out_d"), op.Int("out_h"), op.Int("out_w")};
      request.wanted.assign(all.end() - axes, all.end());
      ASSIGN_OR_RETURN(sizes, ResizedAxes(from, request));
    }
    const Dims out = WithSpatialDims(x.dims, is_channels_last, sizes);
    RETURN_IF_ERROR(ElementCount(out).status());
    op.SetOutput("Out", x.dtype, out);
    return absl::OkStatus();
  };
}

// `type`_interp, or its version 2.
OpSchemaBuilder& DefineResize(OpList& ops, absl::string_view type, bool is_v2, int fewest,
                              int most) {
  const std::string op = absl::StrCat(type, "_interp", is_v2 ? "_v2" : "");
  return ops.Define(absl::StrCat(op, "(X, OutSize?, SizeTensor*?, Scale?) -> (Out)"))
      .Attr("data_layout", String("NCHW"))
      .Attr("out_d", Int(0))
      .Attr("out_h", Int(0))
      .Attr("out_w", Int(0))
      .Attr("scale", is_v2 ? Floats({}) : Float(0))
      .Attr("interp_method", String("bilinear"))
      .Attr("align_corners", Bool(true))
      .Attr("align_mode", Int(1))
      .Hints("use_mkldnn@2")
      .Infer(InferResize(is_v2, fewest, most))
      .IsOfSamples()
      .QuantizableOutputs({"Out"})
      .Gradient(absl::StrCat(op, "_grad(X, OutSize, SizeTensor, Scale, Out@GRAD) -> (X@GRAD)"));
}

}  // namespace

std::vector<OpSchema> InterpolationOps() {
  OpList ops;
  for (const bool is_v2 : {false, true}) {
    DefineResize(ops, "nearest", is_v2, 2, 3)
        .Doc("The nearest element of X [N,C,H,W] or [N,C,D,H,W]. To out_h x out_w, or by scale.")
        .KeepsRange();
    DefineResize(ops, "linear", is_v2, 1, 1)
        .Doc("Linear between neighbours of X [N,C,W]. To out_w, or by scale.");
    DefineResize(ops, "bilinear", is_v2, 2, 2)
        .Doc("Linear between neighbours of X [N,C,H,W]. To out_h x out_w, or by scale.");
    DefineResize(ops, "trilinear", is_v2, 3, 3)
        .Doc("Linear between neighbours of X [N,C,D,H,W]. To out_d x out_h x out_w, or by scale.");
    DefineResize(ops, "bicubic", is_v2, 2, 2)
        .Doc("Cubic between neighbours of X [N,C,H,W]. To out_h x out_w, or by scale.");
  }
  return ops.Build();
}

}  // namespace fixpoint
