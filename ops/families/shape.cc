// Ops that change a tensor's dimensions or the order of its elements, and keep its values.

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/depth_blocks.h"
#include "ops/infer.h"
#include "ops/op_schema_builder.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// Sets Out, and XShape, which holds X's dimensions after a 0 for the gradient op to read.
template <typename SomeDims>
void SetReshaped(InferContext& op, const TensorInfo& x, const SomeDims& out) {
  op.SetOutput("Out", x.dtype, out);
  if (!x.has_dims()) return;
  Dims x_shape(x.dims.begin(), x.dims.end());
  x_shape.insert(x_shape.begin(), 0);
  op.SetOutput("XShape", x.dtype, x_shape);
}

// `shape`: 0 copies X's dimension at that place, one -1 takes what is left.
absl::StatusOr<Dims> ReshapedDims(DimsView x, const std::vector<int64_t>& shape) {
  Dims out;
  int inferred = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && i < x.size()) {
      out.push_back(x[i]);
    } else if (shape[i] > 0) {
      out.push_back(shape[i]);
    } else if (shape[i] == -1 && inferred < 0) {
      inferred = static_cast<int>(i);
      out.push_back(1);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("shape is [", absl::StrJoin(shape, ", "), "] and X is ", DimsText(x),
                       "; want sizes, 0 where X has a dimension, and at most one -1"));
    }
  }
  ASSIGN_OR_RETURN(const int64_t of_x, ElementCount(x));
  ASSIGN_OR_RETURN(const int64_t of_out, ElementCount(out));
  const bool known = of_x >= 0 && of_out >= 0;
  if (inferred >= 0) {
    out[inferred] = known && of_out > 0 ? of_x / of_out : kUnknownDim;
  }
  if (known && (inferred < 0 || of_out == 0 ? of_x != of_out : of_x % of_out != 0)) {
    return absl::InvalidArgumentError(absl::StrCat("X ", DimsText(x), " has ", of_x,
                                                   " elements, which do not fill shape [",
                                                   absl::StrJoin(shape, ", "), "]"));
  }
  return out;
}

absl::Status InferReshape(InferContext& op) {
  const TensorInfo x = op.Input("X");
  std::optional<Dims> out;
  const std::vector<int64_t> shape = op.Ints("shape");
  if (x.has_dims() && !op.HasInput("Shape") && !op.HasInput("ShapeTensor") && !shape.empty()) {
    ASSIGN_OR_RETURN(out, ReshapedDims(x.dims, shape));
  }
  SetReshaped(op, x, out);
  return absl::OkStatus();
}

absl::Status InferTranspose(InferContext& op) {
  const TensorInfo x = op.Input("X");
  if (!x.has_dims()) {
    SetReshaped(op, x, std::nullopt);
    return absl::OkStatus();
  }
  const std::vector<int64_t> permutation = op.Ints("axis");
  std::vector<bool> seen(x.rank(), false);
  Dims out;
  for (int64_t axis : permutation) {
    if (axis < 0 || axis >= x.rank() || seen[axis]) break;
    seen[axis] = true;
    out.push_back(x.dims[axis]);
  }
  if (out.size() != permutation.size() || out.size() != x.dims.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis is [", absl::StrJoin(permutation, ", "), "] and X is ", DimsText(x.dims),
                     "; want a permutation of its ", x.rank(), " axes"));
  }
  SetReshaped(op, x, out);
  return absl::OkStatus();
}

absl::Status InferSqueeze(InferContext& op) {
  const TensorInfo x = op.Input("X");
  std::optional<Dims> out;
  const std::vector<int64_t> axes = op.Ints("axes");
  const bool some_unknown =
      std::any_of(x.dims.begin(), x.dims.end(), [](int64_t dim) { return dim < 0; });
  if (x.has_dims() && !(axes.empty() && some_unknown)) {
    std::vector<bool> squeezed(x.rank(), axes.empty());
    for (int64_t axis : axes) {
      ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, x.rank()));
      squeezed[i] = true;
    }
    out.emplace();
    for (int i = 0; i < x.rank(); ++i) {
      // A named axis that is longer than 1 stays.
      if (!squeezed[i] || x.dims[i] > 1 || x.dims[i] == 0) out->push_back(x.dims[i]);
    }
    if (out->empty()) out.reset();
  }
  SetReshaped(op, x, out);
  return absl::OkStatus();
}

absl::Status InferUnsqueeze(InferContext& op) {
  const TensorInfo x = op.Input("X");
  std::optional<Dims> out;
  if (x.has_dims() && !op.HasInput("AxesTensor") && !op.HasInput("AxesTensorList")) {
    out.emplace(x.dims.begin(), x.dims.end());
    const std::vector<int64_t> axes = op.Ints("axes");
    constexpr size_t kMostAxes = 64;
    if (axes.size() > kMostAxes) {
      return absl::InvalidArgumentError(
          absl::StrCat("axes has ", axes.size(), " values; want at most ", kMostAxes));
    }
    for (int64_t axis : axes) {
      ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, static_cast<int>(out->size()) + 1));
      out->insert(out->begin() + i, 1);
    }
  }
  SetReshaped(op, x, out);
  return absl::OkStatus();
}

// Two dimensions: those before axis, and the rest.
absl::Status InferFlatten(InferContext& op) {
  const TensorInfo x = op.Input("X");
  if (!x.has_dims()) {
    SetReshaped(op, x, std::nullopt);
    return absl::OkStatus();
  }
  const int64_t axis = op.Int("axis");
  if (axis < 0 || axis > x.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis is ", axis, " and X is ", DimsText(x.dims), "; want 0 to ", x.rank()));
  }
  ASSIGN_OR_RETURN(const int64_t rows, ElementCount(x.dims.subspan(0, axis)));
  ASSIGN_OR_RETURN(const int64_t columns, ElementCount(x.dims.subspan(axis)));
  SetReshaped(op, x, Dims{rows, columns});
  return absl::OkStatus();
}

absl::Status InferFlattenRange(InferContext& op) {
  const TensorInfo x = op.Input("X");
  if (!x.has_dims()) {
    SetReshaped(op, x, std::nullopt);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int start, NormalizeAxis(op.Int("start_axis"), x.rank()));
  ASSIGN_OR_RETURN(const int stop, NormalizeAxis(op.Int("stop_axis"), x.rank()));
  if (start > stop) {
    return absl::InvalidArgumentError(
        absl::StrCat("start_axis ", start, " is after stop_axis ", stop));
  }
  ASSIGN_OR_RETURN(const int64_t flat, ElementCount(x.dims.subspan(start, stop - start + 1)));
  Dims out(x.dims.begin(), x.dims.begin() + start);
  out.push_back(flat);
  out.insert(out.end(), x.dims.begin() + stop + 1, x.dims.end());
  SetReshaped(op, x, out);
  return absl::OkStatus();
}

absl::Status InferShuffleChannel(InferContext& op) {
  const int64_t group = op.Int("group");
  const TensorInfo x = op.Input("X");
  if (group < 1 || (x.rank() == 4 && x.dims[1] > 0 && x.dims[1] % group != 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "group is ", group, " and X is ", DimsText(x.dims), "; want a divisor of its channels"));
  }
  op.SetOutputLike("Out", x);
  return absl::OkStatus();
}

absl::Status InferPixelShuffle(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  const int64_t factor = op.Int("upscale_factor");
  if (x.rank() != 4) return absl::OkStatus();
  const bool channels_last = IsChannelsLast(op.String("data_format"));
  const int channel = channels_last ? 3 : 1;
  const int height = channels_last ? 1 : 2;
  constexpr int64_t kLargestFactor = 1 << 15;
  if (factor < 1 || factor > kLargestFactor ||
      (x.dims[channel] >= 0 && x.dims[channel] % (factor * factor) != 0)) {
    return absl::InvalidArgumentError(absl::StrCat("upscale_factor is ", factor, " and X is ",
                                                   DimsText(x.dims),
                                                   "; want a square of it to divide X's channels"));
  }
  Dims out(x.dims.begin(), x.dims.end());
  if (out[channel] > 0) out[channel] /= factor * factor;
  for (int i = height; i < height + 2; ++i) {
    if (out[i] >= 0 && __builtin_mul_overflow(out[i], factor, &out[i])) {
      return absl::InvalidArgumentError("the output's size is more than an int64 holds");
    }
  }
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

absl::Status InferSpaceToDepth(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  const int64_t blocksize = op.Int("blocksize");
  if (!x.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Dims out, SpaceToDepthDims(x.dims, blocksize));
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

void DefineReshape(OpList& ops) {
  ops.Define("reshape(X, Shape?, ShapeTensor*?) -> (Out)")
      .Doc("reshape2 without XShape.")
      .Attr("shape", Ints({}))
      .Hints("use_mkldnn@2")
      .Infer(InferReshape)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient(
          "reshape_grad(X, Out, Out@GRAD, Shape, ShapeTensor) -> "
          "(X@GRAD, Shape@GRAD, ShapeTensor@GRAD)");
  ops.Define("reshape2(X, Shape?, ShapeTensor*?) -> (Out, XShape)")
      .Doc(
          "X with the dimensions `shape`: 0 copies X's, one -1 is what is left. XShape holds [0] + "
          "X's dimensions and no data.")
      .Attr("shape", Ints({}))
      .Hints("use_quantizer, use_mkldnn@2, mkldnn_data_type@2")
      .Infer(InferReshape)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("reshape2_grad(XShape, Out@GRAD) -> (X@GRAD)");
  ops.Define("flatten(X) -> (Out)")
      .Doc("flatten2 without XShape.")
      .Attr("axis", Int(1))
      .Infer(InferFlatten)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("flatten_grad(X, Out@GRAD) -> (X@GRAD)");
  ops.Define("flatten2(X) -> (Out, XShape@1, XShape?@2)")
      .Doc("Two dimensions: X's before axis, and the others.")
      .Attr("axis", Int(1))
      .Hints("use_mkldnn@2, mkldnn_data_type@2")
      .Infer(InferFlatten)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("flatten2_grad(XShape, Out@GRAD) -> (X@GRAD)");
  ops.Define("flatten_contiguous_range(X) -> (Out, XShape?)")
      .Doc("Flattens the axes from start_axis to stop_axis to one.")
      .Attr("start_axis", Int(1))
      .Attr("stop_axis", Int(1))
      .Infer(InferFlattenRange)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("flatten_contiguous_range_grad(XShape, Out@GRAD) -> (X@GRAD)");
}

void DefineSqueeze(OpList& ops) {
  ops.Define("squeeze(X) -> (Out)")
      .Doc("squeeze2 without XShape.")
      .Attr("axes", Ints({}))
      .Infer(InferSqueeze)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("squeeze_grad(X, Out@GRAD) -> (X@GRAD)");
  ops.Define("squeeze2(X) -> (Out, XShape@1, XShape?@2)")
      .Doc("X without its dimensions of 1: those that `axes` names, or all.")
      .Attr("axes", Ints({}))
      .Hints("use_mkldnn@2, mkldnn_data_type@2")
      .Infer(InferSqueeze)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("squeeze2_grad(XShape, Out@GRAD) -> (X@GRAD)");
  ops.Define("unsqueeze(X, AxesTensor?, AxesTensorList*?) -> (Out)")
      .Doc("unsqueeze2 without XShape.")
      .Attr("axes", Ints({}))
      .Infer(InferUnsqueeze)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("unsqueeze_grad(X, Out@GRAD) -> (X@GRAD)");
  ops.Define("unsqueeze2(X, AxesTensor?, AxesTensorList*?) -> (Out, XShape@1, XShape?@2)")
      .Doc("X with a dimension of 1 inserted at each of `axes`, one after another.")
      .Attr("axes", Ints({}))
      .Infer(InferUnsqueeze)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("unsqueeze2_grad(XShape, AxesTensor@2, AxesTensorList@2, Out@GRAD) -> (X@GRAD)");
}

}  // namespace

std::vector<OpSchema> ShapeOps() {
  OpList ops;
  DefineReshape(ops);
  DefineSqueeze(ops);
  ops.Define("transpose(X) -> (Out)")
      .Doc("transpose2 without XShape.")
      .Attr("axis", Required(INTS))
      .Attr("data_format", String("AnyLayout"))
      .Hints("use_mkldnn, use_quantizer@1, mkldnn_data_type@2")
      .Infer(InferTranspose)
      .TakeLod({})
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("transpose_grad(X, Out, Out@GRAD) -> (X@GRAD)");
  ops.Define("transpose2(X) -> (Out, XShape@1, XShape?@2)")
      .Doc("X with its axes in the order `axis`.")
      .Attr("axis", Required(INTS))
      .Attr("data_format", String("AnyLayout"))
      .Hints("use_mkldnn, use_quantizer@1, mkldnn_data_type@2")
      .Infer(InferTranspose)
      .TakeLod({})
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("transpose2_grad(XShape, Out@GRAD) -> (X@GRAD)");
  ops.Define("shuffle_channel(X) -> (Out)")
      .Doc("Takes channels in turn from `group` groups.")
      .Attr("group", Int(1))
      .Hints("use_mkldnn@2")
      .Infer(InferShuffleChannel)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .GradientNotKnown();
  ops.Define("pixel_shuffle(X) -> (Out)")
      .Doc("Groups of upscale_factor^2 channels become upscale_factor x upscale_factor pixels.")
      .Attr("upscale_factor", Int(1))
      .Attr("data_format", String("NCHW"), Eras::kPaddle2)
      .Infer(InferPixelShuffle)
      .KeepsRange()
      .GradientNotKnown();
  ops.Define("space_to_depth(X) -> (Out)")
      .Doc(
          "X [N,C,H,W] as [N,C*b*b,H/b,W/b], b = blocksize: in memory, b*b groups of channels "
          "become b x b pixels.")
      .Attr("blocksize", Long(2))
      .Infer(InferSpaceToDepth)
      .KeepsRange()
      .QuantizableOutputs({"Out"})
      .Gradient("space_to_depth_grad(X#, Out@GRAD) -> (X@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
