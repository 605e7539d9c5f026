// Images sampled between their elements, at places that another tensor gives.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// Of an attribute that releases before 2.0 do not have.
bool HasAttr(InferContext& op, absl::string_view name) {
  return op.schema().FindAttr(name, op.era()) != nullptr;
}

absl::Status CheckOneOf(absl::string_view name, const std::string& value,
                        std::initializer_list<const char*> known) {
  for (const char* one : known) {
    if (value == one) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is \"", value, "\"; want one that the op knows"));
}

absl::Status InferGridSampler(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo grid = op.Input("Grid");
  op.SetOutput("Output", x.dtype, std::nullopt);
  if (HasAttr(op, "mode")) {
    RETURN_IF_ERROR(CheckOneOf("mode", op.String("mode"), {"bilinear", "nearest"}));
    RETURN_IF_ERROR(
        CheckOneOf("padding_mode", op.String("padding_mode"), {"zeros", "border", "reflection"}));
  }
  if (x.rank() != 4 || grid.rank() != 4) return absl::OkStatus();
  if (!MayBeEqual(x.dims[0], grid.dims[0]) || !MayBeEqual(grid.dims[3], 2)) {
    return absl::InvalidArgumentError(absl::StrCat("Grid is ", DimsText(grid.dims), " and X is ",
                                                   DimsText(x.dims),
                                                   "; want [X's batch, height, width, 2]"));
  }
  op.SetOutput("Output", x.dtype, Dims{x.dims[0], x.dims[1], grid.dims[1], grid.dims[2]});
  return absl::OkStatus();
}

absl::Status CheckTimes(absl::string_view what, int64_t channels, int64_t groups) {
  if (channels < 0 || channels % groups == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", channels, " channels; want a multiple of ", groups));
}

absl::Status InferDeformableConv(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  const TensorInfo filter = op.Input("Filter");
  op.SetOutput("Output", input.dtype, std::nullopt);
  if (!input.has_dims() || !filter.has_dims()) return absl::OkStatus();
  if (input.rank() != 4 || filter.rank() != 4) {
    return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(input.dims),
                                                   " and Filter ", DimsText(filter.dims),
                                                   "; want 4 dimensions"));
  }
  const WindowAttrs attrs{op.Ints("strides"), op.Ints("paddings"), op.Ints("dilations"),
                          "EXPLICIT"};
  ASSIGN_OR_RETURN(const Window window,
                   MakeWindow(attrs, filter.dims.subspan(2, 2), input.dims.subspan(2, 2)));
  ASSIGN_OR_RETURN(const int64_t groups, PositiveAttr(op, "groups"));
  ASSIGN_OR_RETURN(const int64_t offset_groups, PositiveAttr(op, "deformable_groups"));
  RETURN_IF_ERROR(CheckTimes("Input", input.dims[1], groups));
  RETURN_IF_ERROR(CheckTimes("Input", input.dims[1], offset_groups));
  RETURN_IF_ERROR(CheckTimes("Output", filter.dims[0], groups));
  if (input.dims[1] >= 0 && !MayBeEqual(filter.dims[1], input.dims[1] / groups)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Filter is ", DimsText(filter.dims), " and Input ", DimsText(input.dims),
                     " in ", groups, " groups; want as many channels as a group has"));
  }
  Dims out = {input.dims[0], filter.dims[0], 0, 0};
  for (int i = 0; i < 2; ++i) {
    ASSIGN_OR_RETURN(out[2 + i], WindowCount(input.dims[2 + i], window[i]));
  }
  ASSIGN_OR_RETURN(const int64_t taps,
                   ElementCount({offset_groups, filter.dims[2], filter.dims[3]}));
  for (const char* slot : {"Offset", "Mask"}) {
    if (op.schema().FindInput(slot, op.era()) == nullptr) continue;
    const TensorInfo tensor = op.Input(slot);
    if (!tensor.has_dims() || taps < 0) continue;
    const int64_t of_tap = absl::string_view(slot) == "Offset" ? 2 : 1;
    ASSIGN_OR_RETURN(const int64_t channels, ElementCount({taps, of_tap}));
    const Dims wanted = {input.dims[0], channels, out[2], out[3]};
    if (MayBeEqual(tensor.dims, wanted)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(slot, " is ", DimsText(tensor.dims), "; want ", DimsText(wanted)));
  }
  op.SetOutput("Output", input.dtype, out);
  return absl::OkStatus();
}

OpSchemaBuilder& DefineDeformableConv(OpList& ops, absl::string_view type, bool has_mask) {
  const char* const mask = has_mask ? ", Mask" : "";
  return ops.Define(absl::StrCat(type, "(Input, Offset, Filter", mask, ") -> (Output)"))
      .Doc(absl::StrCat("A convolution that reads each tap where Offset moves it",
                        has_mask ? ", times Mask." : "."))
      .Attr("strides", Ints({1, 1}))
      .Attr("paddings", Ints({0, 0}))
      .Attr("dilations", Ints({1, 1}))
      .Attr("groups", Int(1))
      .Attr("deformable_groups", Int(1))
      .Attr("im2col_step", Int(64))
      .Infer(InferDeformableConv)
      .Gradient(absl::StrCat(type, "_grad(Input, Offset, Filter", mask,
                             ", Output@GRAD) -> (Input@GRAD, Offset@GRAD, Filter@GRAD",
                             has_mask ? ", Mask@GRAD)" : ")"));
}

// Theta [N,2,3] gives the places of a grid [N,H,W,2].
absl::Status InferAffineGrid(InferContext& op) {
  const TensorInfo theta = op.Input("Theta");
  if (theta.has_dims() &&
      (theta.rank() != 3 || !MayBeEqual(theta.dims[1], 2) || !MayBeEqual(theta.dims[2], 3))) {
    return absl::InvalidArgumentError(
        absl::StrCat("Theta is ", DimsText(theta.dims), "; want [batch, 2, 3]"));
  }
  const int64_t batch = theta.has_dims() ? theta.dims[0] : kUnknownDim;
  Dims grid = {batch, kUnknownDim, kUnknownDim, 2};
  const std::vector<int64_t> shape = op.Ints("output_shape");
  if (!op.HasInput("OutputShape") && !shape.empty()) {
    if (shape.size() != 4 || shape[2] < 1 || shape[3] < 1 || !MayBeEqual(batch, shape[0])) {
      return absl::InvalidArgumentError(
          absl::StrCat("output_shape is [", absl::StrJoin(shape, ", "), "] and Theta ",
                       DimsText(theta.dims), "; want [batch, channels, height, width]"));
    }
    grid[1] = shape[2];
    grid[2] = shape[3];
  }
  RETURN_IF_ERROR(ElementCount(grid).status());
  op.SetOutput("Output", theta.dtype, grid);
  return absl::OkStatus();
}

// Theta@GRAD is [N,2,3].
absl::Status InferAffineGridGradient(InferContext& op) {
  const TensorInfo dout = op.Input("Output@GRAD");
  op.SetOutput("Theta@GRAD", dout.dtype, Dims{dout.has_dims() ? dout.dims[0] : kUnknownDim, 2, 3});
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> SamplingOps() {
  OpList ops;
  ops.Define("grid_sampler(X, Grid) -> (Output)")
      .Doc("X [N,C,H,W] at the places that Grid [N,H',W',2] names, from -1 to 1: [N,C,H',W'].")
      .Attr("mode", String("bilinear"), Eras::kPaddle2)
      .Attr("padding_mode", String("zeros"), Eras::kPaddle2)
      .Attr("align_corners", Bool(true), Eras::kPaddle2)
      .Attr("use_cudnn", Bool(true))
      .Infer(InferGridSampler)
      .QuantizableOutputs({"Output"})
      .Gradient("grid_sampler_grad(X, Grid, Output@GRAD) -> (X@GRAD, Grid@GRAD)");
  DefineDeformableConv(ops, "deformable_conv", /*has_mask=*/true);
  DefineDeformableConv(ops, "deformable_conv_v1", /*has_mask=*/false);
  ops.Define("affine_grid(Theta, OutputShape?) -> (Output)")
      .Doc(
          "Where Theta [N,2,3] takes the places (x, y, 1) of the pixels of an image of "
          "output_shape; -1 and 1 are the centers of the outer pixels or, without align_corners, "
          "their edges.")
      .Attr("use_cudnn", Bool(true), Eras::kFluid)
      .Attr("align_corners", Bool(true), Eras::kPaddle2)
      .Attr("output_shape", Ints({}))
      .Infer(InferAffineGrid)
      .Gradient("affine_grid_grad(Output@GRAD, OutputShape) -> (Theta@GRAD)", Eras::kFluid)
      .Gradient("affine_grid_grad(Theta, OutputShape, Output@GRAD) -> (Theta@GRAD)", Eras::kPaddle2)
      .GradientInfer(InferAffineGridGradient);
  return ops.Build();
}

}  // namespace fixpoint
