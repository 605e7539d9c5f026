// Padding.

#include <vector>

#include "ops/element_places.h"
#include "ops/infer.h"
#include "ops/op_schema_builder.h"
#include "ops/window_axes.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// What an op of a form says besides paddings. Only images and volumes have modes and layouts.
absl::StatusOr<PadMode> ModeOf(InferContext& op, PadForm form) {
  return form == PadForm::kEachAxis ? PadMode::kConstant : PadModeOf(op.String("mode"));
}

bool HasChannelsLast(InferContext& op, PadForm form) {
  if (form == PadForm::kEachAxis) return false;
  return AreChannelsLast(op.String("data_format"));
}

OpSchema::InferFunction InferPad(PadForm form) {
  return [form](InferContext& op) -> absl::Status {
    const TensorInfo x = op.Input("X");
    op.SetOutput("Out", x.dtype, std::nullopt);
    if (!x.has_dims() || op.HasInput("Paddings")) return absl::OkStatus();
    ASSIGN_OR_RETURN(const PadMode mode, ModeOf(op, form));
    ASSIGN_OR_RETURN(const std::vector<PaddedAxis> axes,
                     PaddedAxes(form, x.rank(), HasChannelsLast(op, form), op.Ints("paddings")));
    Dims out(x.dims.begin(), x.dims.end());
    for (int i = 0; i < x.rank(); ++i) {
      ASSIGN_OR_RETURN(out[i], PaddedSize(out[i], axes[i], mode));
    }
    RETURN_IF_ERROR(ElementCount(out).status());
    op.SetOutput("Out", x.dtype, out);
    return absl::OkStatus();
  };
}

// The gradient op of pad reads nothing of X's dims: they are those of the gradient without padding.
absl::Status InferPadGradient(InferContext& op) {
  const TensorInfo dout = op.Input("Out@GRAD");
  op.SetOutput("X@GRAD", dout.dtype, std::nullopt);
  if (!dout.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<PaddedAxis> axes,
                   PaddedAxes(PadForm::kEachAxis, dout.rank(), false, op.Ints("paddings")));
  Dims dx(dout.dims.begin(), dout.dims.end());
  for (int i = 0; i < dout.rank(); ++i) {
    ASSIGN_OR_RETURN(dx[i],
                     PaddedSize(dx[i], {-axes[i].before, -axes[i].after}, PadMode::kConstant));
  }
  op.SetOutput("X@GRAD", dout.dtype, dx);
  return absl::OkStatus();
}

// Every mode but "constant" repeats X's values.
bool RepeatsValues(const OpAttributes& attributes) {
  return attributes.String("mode") != "constant";
}

OpSchema::TraitFunction IsNotBelowZero(const char* attribute) {
  return [attribute](const OpAttributes& attributes) { return attributes.Float(attribute) >= 0; };
}

}  // namespace

std::vector<OpSchema> PaddingOps() {
  OpList ops;
  ops.Define("pad(X) -> (Out)")
      .Doc("X with pad_value around it: paddings are [before, after] for each axis.")
      .Attr("paddings", Required(INTS))
      .Attr("pad_value", Float(0))
      .Infer(InferPad(PadForm::kEachAxis))
      .KeepsSignIf(IsNotBelowZero("pad_value"))
      .FillsWith("pad_value")
      .QuantizableOutputs({"Out"})
      .Gradient("pad_grad(Out@GRAD) -> (X@GRAD)")
      .GradientInfer(InferPadGradient);
  ops.Define("pad2d(X, Paddings?) -> (Out)")
      .Doc("X [N,C,H,W] with paddings [top, bottom, left, right].")
      .Attr("paddings", Required(INTS))
      .Attr("pad_value", Float(0))
      .Attr("mode", String("constant"))
      .Attr("data_format", String("NCHW"))
      .Hints("use_mkldnn@2")
      .Infer(InferPad(PadForm::kImage))
      .IsOfSamples()
      .KeepsRangeIf(RepeatsValues)
      .KeepsSignIf(IsNotBelowZero("pad_value"))
      .FillsWith("pad_value")
      .QuantizableOutputs({"Out"})
      .Gradient("pad2d_grad(X, Paddings, Out@GRAD) -> (X@GRAD)");
  ops.Define("pad3d(X, Paddings?) -> (Out)")
      .Doc("X [N,C,D,H,W] with paddings [left, right, top, bottom, front, back].")
      .Attr("paddings", Required(INTS))
      .Attr("value", Float(0))
      .Attr("mode", String("constant"))
      .Attr("data_format", String("NCDHW"))
      .Hints("use_mkldnn")
      .Infer(InferPad(PadForm::kVolume))
      .IsOfSamples()
      .KeepsRangeIf(RepeatsValues)
      .KeepsSignIf(IsNotBelowZero("value"))
      .FillsWith("value")
      .QuantizableOutputs({"Out"})
      .Gradient("pad3d_grad(X, Paddings, Out@GRAD) -> (X@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
