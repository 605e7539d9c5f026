// Ops that give a tensor other dimensions, or its elements another order.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/depth_blocks.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/shape_inputs.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// X with other dims; and XShape, [0] and X's dims, where the op has it.
absl::Status SetReshaped(OpRun& op, const Dims& dims) {
  Array out = op.Input("X");
  if (Volume(dims) != out.size()) {
    return absl::InvalidArgumentError(absl::StrCat("X ", DimsText(out.dims), " has ", out.size(),
                                                   " elements, which do not fill ",
                                                   DimsText(dims)));
  }
  Dims x_shape = out.dims;
  x_shape.insert(x_shape.begin(), 0);
  const VarType::Type dtype = out.dtype;
  out.Reshape(dims);
  op.SetOutput("Out", std::move(out));
  if (op.HasOutput("XShape")) op.SetOutput("XShape", Array(dtype, x_shape));
  return absl::OkStatus();
}

// The dims of what a gradient op's forward op read: X's, or those in XShape after the 0.
absl::StatusOr<Dims> ForwardDims(const OpRun& op) {
  if (op.HasInputSlot("X")) return op.Input("X").dims;
  const Array* x_shape = op.FindInput("XShape");
  if (x_shape == nullptr || x_shape->dims.empty()) {
    return absl::InvalidArgumentError("XShape has no dimensions; want 0 and X's dimensions");
  }
  return Dims(x_shape->dims.begin() + 1, x_shape->dims.end());
}

absl::Status ReshapeGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Dims dims, ForwardDims(op));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", Volume(dims)));
  Array dx = op.Input("Out@GRAD");
  dx.Reshape(dims);
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// `shape`: 0 copies X's dimension at that place, one -1 is what is left.
absl::Status Reshape(OpRun& op) {
  const Array& x = op.Input("X");
  // The list goes before the tensor, and both before the attribute.
  const char* tensor = op.Inputs("ShapeTensor").empty() ? "Shape" : "";
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, IntsFrom(op, tensor, "ShapeTensor", "shape"));
  Dims dims(shape.begin(), shape.end());
  int64_t* rest = nullptr;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && i < x.dims.size()) dims[i] = x.dims[i];
    if (dims[i] == -1 && rest == nullptr) rest = &dims[i];
  }
  if (rest != nullptr) {
    *rest = 1;
    RETURN_IF_ERROR(CheckSizes(dims));
    const int64_t others = Volume(dims);
    *rest = others > 0 ? x.size() / others : 0;
  }
  RETURN_IF_ERROR(CheckSizes(dims));
  return SetReshaped(op, dims);
}

// Two dimensions: X's before axis, and the rest.
absl::Status Flatten(OpRun& op) {
  const DimsView dims = op.Input("X").dims;
  const int64_t axis = op.Int("axis");
  if (axis < 0 || axis > static_cast<int64_t>(dims.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis is ", axis, " and X is ", DimsText(dims), "; want 0 to ", dims.size()));
  }
  return SetReshaped(op, {Volume(dims.subspan(0, axis)), Volume(dims.subspan(axis))});
}

absl::Status FlattenRange(OpRun& op) {
  const Array& x = op.Input("X");
  if (x.rank() == 0) return SetReshaped(op, {1});
  ASSIGN_OR_RETURN(const int start, NormalizeAxis(op.Int("start_axis"), x.rank()));
  ASSIGN_OR_RETURN(const int stop, NormalizeAxis(op.Int("stop_axis"), x.rank()));
  if (start > stop) {
    return absl::InvalidArgumentError(
        absl::StrCat("start_axis ", start, " is after stop_axis ", stop));
  }
  Dims dims(x.dims.begin(), x.dims.begin() + start);
  dims.push_back(ViewAround(x.dims, start, stop + 1).size);
  dims.insert(dims.end(), x.dims.begin() + stop + 1, x.dims.end());
  return SetReshaped(op, dims);
}

// Without the dimensions of 1 that `axes` names, or without all of them.
absl::Status Squeeze(OpRun& op) {
  const Array& x = op.Input("X");
  const std::vector<int64_t> axes = op.Ints("axes");
  std::vector<bool> is_named(x.rank(), axes.empty());
  for (const int64_t axis : axes) {
    ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, x.rank()));
    is_named[i] = true;
  }
  Dims dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (!is_named[i] || x.dims[i] != 1) dims.push_back(x.dims[i]);
  }
  if (dims.empty()) dims = op.ScalarDims();
  return SetReshaped(op, dims);
}

// A 1 is inserted at each of `axes`, one after another.
absl::Status Unsqueeze(OpRun& op) {
  Dims dims = op.Input("X").dims;
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                   IntsFrom(op, "AxesTensor", "AxesTensorList", "axes"));
  for (const int64_t axis : axes) {
    ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, static_cast<int>(dims.size()) + 1));
    dims.insert(dims.begin() + i, 1);
  }
  return SetReshaped(op, dims);
}

// Where the axes of a transposed tensor come from. Error: `axis` is no permutation of X's.
absl::StatusOr<std::vector<int>> Permutation(const OpRun& op, int rank) {
  const std::vector<int64_t> axes = op.Ints("axis");
  std::vector<int> permutation;
  std::vector<bool> seen(rank, false);
  for (const int64_t axis : axes) {
    if (axis < 0 || axis >= rank || seen[axis]) break;
    seen[axis] = true;
    permutation.push_back(static_cast<int>(axis));
  }
  if (permutation.size() == axes.size() && static_cast<int>(axes.size()) == rank) {
    return permutation;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "axis is [", absl::StrJoin(axes, ", "), "]; want a permutation of the ", rank, " axes of X"));
}

absl::Status Transpose(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const std::vector<int> permutation, Permutation(op, x.rank()));
  const Dims x_strides = Strides(x.dims);
  Dims dims;
  Dims strides;
  for (const int axis : permutation) {
    dims.push_back(x.dims[axis]);
    strides.push_back(x_strides[axis]);
  }
  Array out(x.dtype, dims);
  ForEachPlace(dims, strides, [&](int64_t i, int64_t x_i) { out[i] = x[x_i]; });
  Dims x_shape = x.dims;
  x_shape.insert(x_shape.begin(), 0);
  if (op.HasOutput("XShape")) op.SetOutput("XShape", Array(x.dtype, x_shape));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status TransposeGradient(OpRun& op) {
  const Array& dout = op.Input("Out@GRAD");
  ASSIGN_OR_RETURN(const std::vector<int> permutation, Permutation(op, dout.rank()));
  Dims dims(dout.dims.size());
  for (size_t i = 0; i < permutation.size(); ++i) dims[permutation[i]] = dout.dims[i];
  const Dims dx_strides = Strides(dims);
  Dims strides;
  for (const int axis : permutation) strides.push_back(dx_strides[axis]);
  Array dx(dout.dtype, dims);
  ForEachPlace(dout.dims, strides, [&](int64_t i, int64_t dx_i) { dx[dx_i] = dout[i]; });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// Channels of `group` groups in turn: [N, g, C/g, H, W] with the middle two swapped.
absl::Status ShuffleChannel(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 4));
  const Array& x = op.Input("X");
  const int64_t groups = op.Int("group");
  if (groups < 1 || x.dims[1] % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "group is ", groups, " and X is ", DimsText(x.dims), "; want a divisor of its channels"));
  }
  const int64_t size = x.dims[1] / groups;
  const AxisView view = ViewAround(x.dims, 1);
  Array out(x.dtype, x.dims);
  for (int64_t n = 0; n < view.outer; ++n) {
    for (int64_t c = 0; c < view.size; ++c) {
      const int64_t from = c % groups * size + c / groups;
      for (int64_t k = 0; k < view.inner; ++k) out[view.At(n, c, k)] = x[view.At(n, from, k)];
    }
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// For X [N, C*r*r, H, W]: out[n, c, h*r + i, w*r + j] = x[n, (c*r + i)*r + j, h, w].
absl::Status PixelShuffle(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 4));
  const Array& x = op.Input("X");
  const int64_t r = op.Int("upscale_factor");
  const bool channels_last = IsChannelsLast(op.String("data_format"));
  const int c = channels_last ? 3 : 1;
  const int h = channels_last ? 1 : 2;
  const int w = h + 1;
  if (r < 1 || r > (1 << 15) || x.dims[c] % (r * r) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("upscale_factor is ", r, " and X is ",
                                                   DimsText(x.dims),
                                                   "; want its square to divide the channels"));
  }
  const Dims at = Strides(x.dims);
  const int64_t channels = x.dims[c] / (r * r);
  Dims out_dims = x.dims;
  out_dims[c] = channels;
  out_dims[h] *= r;
  out_dims[w] *= r;
  // [N, C, H, r, W, r] or [N, H, r, W, r, C], and where that is in X.
  const Dims places = channels_last ? Dims{x.dims[0], x.dims[h], r, x.dims[w], r, channels}
                                    : Dims{x.dims[0], channels, x.dims[h], r, x.dims[w], r};
  const Dims strides = channels_last ? Dims{at[0], at[h], at[c] * r, at[w], at[c], at[c] * r * r}
                                     : Dims{at[0], at[c] * r * r, at[h], at[c] * r, at[w], at[c]};
  Array out(x.dtype, out_dims);
  ForEachPlace(places, strides, [&](int64_t i, int64_t x_i) { out[i] = x[x_i]; });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::StatusOr<DepthBlocks> BlocksOf(const OpRun& op) {
  return DepthBlocks::Of(op.Input("X").dims, op.Int("blocksize"));
}

absl::Status SpaceToDepth(OpRun& op) {
  ASSIGN_OR_RETURN(const DepthBlocks blocks, BlocksOf(op));
  const Array& x = op.Input("X");
  Array out(x.dtype, blocks.out_dims);
  ForEachPlace(blocks.places, blocks.strides, [&](int64_t i, int64_t x_i) { out[i] = x[x_i]; });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status SpaceToDepthGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const DepthBlocks blocks, BlocksOf(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", blocks.out_dims));
  const Array& dout = op.Input("Out@GRAD");
  Array dx(dout.dtype, op.Input("X").dims);
  ForEachPlace(blocks.places, blocks.strides, [&](int64_t i, int64_t x_i) { dx[x_i] = dout[i]; });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

}  // namespace

Kernels ShapeKernels() {
  Kernels kernels = {{"shuffle_channel", ShuffleChannel},
                     {"pixel_shuffle", PixelShuffle},
                     {"space_to_depth", SpaceToDepth},
                     {"space_to_depth_grad", SpaceToDepthGradient},
                     {"flatten_contiguous_range", FlattenRange},
                     {"flatten_contiguous_range_grad", ReshapeGradient}};
  for (const char* version : {"", "2"}) {
    kernels.push_back({absl::StrCat("reshape", version), Reshape});
    kernels.push_back({absl::StrCat("flatten", version), Flatten});
    kernels.push_back({absl::StrCat("squeeze", version), Squeeze});
    kernels.push_back({absl::StrCat("unsqueeze", version), Unsqueeze});
    kernels.push_back({absl::StrCat("transpose", version), Transpose});
    for (const char* type : {"reshape", "flatten", "squeeze", "unsqueeze"}) {
      kernels.push_back({absl::StrCat(type, version, "_grad"), ReshapeGradient});
    }
    kernels.push_back({absl::StrCat("transpose", version, "_grad"), TransposeGradient});
  }
  return kernels;
}

}  // namespace fixpoint::reference
