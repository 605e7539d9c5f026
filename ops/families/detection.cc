// Resizing of images.

#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

// New sizes of H and W; unknown if a tensor gives them, or a scale of an unknown size.
absl::Status InferResize(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (x.rank() != 4) return absl::OkStatus();
  const int height_axis = IsChannelsLast(op.String("data_layout")) ? 1 : 2;
  Dims out(x.dims.begin(), x.dims.end());
  const bool from_tensor =
      op.HasInput("OutSize") || op.HasInput("SizeTensor") || op.HasInput("Scale");
  const OpDesc::Attr* attr = AttrOrDefault(op.op(), "scale", op.era());
  std::vector<double> scales;
  if (attr != nullptr) {
    // Version 1 has one value.
    if (const std::optional<double> scale = FloatValue(*attr); scale) {
      scales = {*scale};
    } else if (const auto each = FloatsValue(*attr); each) {
      scales = *each;
    }
  }
  if (scales.size() == 1) scales.push_back(scales[0]);
  for (int i = 0; i < 2; ++i) {
    int64_t& size = out[height_axis + i];
    const int64_t wanted = op.Int(i == 0 ? "out_h" : "out_w");
    const double scale = scales.size() == 2 ? scales[i] : 0;
    if (from_tensor || (scale > 0 && size < 0)) {
      size = kUnknownDim;
    } else if (scale > 0) {
      // In float, as the reference computes it: 10 * 0.7f is 7.
      const float scaled = static_cast<float>(size) * static_cast<float>(scale);
      if (!(scaled < 9e18f)) {
        return absl::InvalidArgumentError(
            absl::StrCat("scale ", scale, " of ", size, " is more than an int64 holds"));
      }
      size = static_cast<int64_t>(scaled);
    } else if (wanted > 0) {
      size = wanted;
    } else {
      return absl::InvalidArgumentError("neither out_h and out_w nor scale is positive");
    }
  }
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

OpSchemaBuilder& DefineResize(OpList& ops, absl::string_view type, absl::string_view doc) {
  return ops.Define(absl::StrCat(type, "(X, OutSize?, SizeTensor*?, Scale?) -> (Out)"))
      .Doc(absl::StrCat(doc, " To out_h x out_w, or by scale."))
      .Attr("data_layout", String("NCHW"))
      .Attr("out_d", Int(0))
      .Attr("out_h", Int(0))
      .Attr("out_w", Int(0))
      .Attr("interp_method", String("bilinear"))
      .Attr("align_corners", Bool(true))
      .Attr("align_mode", Int(1))
      .Hints("use_mkldnn@2")
      .Infer(InferResize)
      .QuantizableOutputs({"Out"})
      .Gradient(absl::StrCat(type, "_grad(X, OutSize, SizeTensor, Scale, Out@GRAD) -> (X@GRAD)"));
}

}  // namespace

std::vector<OpSchema> DetectionOps() {
  OpList ops;
  DefineResize(ops, "nearest_interp", "The nearest element.").Attr("scale", Float(0)).KeepsRange();
  DefineResize(ops, "nearest_interp_v2", "The nearest element.")
      .Attr("scale", Floats({}))
      .KeepsRange();
  DefineResize(ops, "bilinear_interp", "Linear between neighbours.").Attr("scale", Float(0));
  DefineResize(ops, "bilinear_interp_v2", "Linear between neighbours.").Attr("scale", Floats({}));
  return ops.Build();
}

}  // namespace fixpoint
