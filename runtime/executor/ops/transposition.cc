// Ops that give the elements of a tensor another order.

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/depth_blocks.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/copy_step.h"
#include "runtime/executor/ops/image_form.h"
#include "runtime/executor/ops/in_memory.h"
#include "runtime/kernels/strided_copy.h"

namespace fixpoint::executor {
namespace {

// The attribute `axis`. Error: it is no permutation of that many axes.
absl::StatusOr<Dims> PermutationOf(const OpPlanner& op, size_t rank) {
  const std::vector<int64_t> axes = op.attributes().Ints("axis");
  Dims sorted(axes.begin(), axes.end());
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = sorted.size() == rank;
  for (size_t i = 0; is_permutation && i < rank; ++i) {
    is_permutation = sorted[i] == static_cast<int64_t>(i);
  }
  if (is_permutation) return Dims(axes.begin(), axes.end());
  return absl::InvalidArgumentError(absl::StrCat("axis is [", absl::StrJoin(axes, ", "),
                                                 "]; want a permutation of the ", rank, " axes"));
}

// Adds the step that copies X to Out, of `out_dims`. Element (i, j, ...) of `places`, in the order
// of Out's memory, is read at i * strides[0] + j * strides[1] + ...
absl::Status AddReorder(OpPlanner& op, Layout layout, const Dims& places, const Dims& strides,
                        const Dims& out_dims) {
  const VarType::Type dtype = op.InputType("X").dtype;
  ASSIGN_OR_RETURN(
      const std::shared_ptr<kernels::StridedCopy> copy,
      kernels::StridedCopy::Plan(places, {0, strides}, kernels::RowMajorLayout(places)));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", dtype, layout));
  const Buffer out = op.WriteAs("Out", {dtype, out_dims}, layout);
  return AddCopy(op, dtype, copy, x, out);
}

// Where the neighbour on each axis of an image is.
struct ImageStrides {
  ImageStrides(const Dims& dims, Layout layout) {
    const Dims in_memory = kernels::RowMajorLayout(DimsInMemory(dims, layout)).strides;
    const auto on = [&](int axis) { return in_memory[AxisInMemory(axis, layout)]; };
    batch = on(0);
    channel = on(1);
    row = on(2);
    column = on(3);
  }

  int64_t batch;
  int64_t channel;
  int64_t row;
  int64_t column;
};

// Channels of `group` groups in turn.
absl::Status PlanShuffleChannel(OpPlanner& op) {
  const Dims& dims = op.InputDims("X");
  const int64_t groups = op.attributes().Int("group");
  if (dims.size() != 4 || groups < 1 || dims[1] % groups != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("group is ", groups, " and X is ", DimsText(dims),
                     "; want [batch, channels, height, width] and a divisor of the channels"));
  }
  const Layout layout = op.InputLayout("X");
  const ImageStrides at(dims, layout);
  const int64_t size = dims[1] / groups;
  const Dims in_turn{size, groups};  // the channels
  const Dims from{at.channel, at.channel * size};
  if (layout == Layout::kRowMajor) {
    return AddReorder(op, layout, {dims[0], in_turn[0], in_turn[1], dims[2], dims[3]},
                      {at.batch, from[0], from[1], at.row, at.column}, dims);
  }
  return AddReorder(op, layout, {dims[0], dims[2], dims[3], in_turn[0], in_turn[1]},
                    {at.batch, at.row, at.column, from[0], from[1]}, dims);
}

// For X [N, C*r*r, H, W]: out[n, c, h*r + i, w*r + j] = x[n, (c*r + i)*r + j, h, w].
absl::Status PlanPixelShuffle(OpPlanner& op) {
  const int64_t r = op.attributes().Int("upscale_factor");
  const ImageForm form(op.attributes().String("data_format"));
  const bool are_images = op.InputDims("X").size() == 4;
  const Dims dims = are_images ? form.ToNchw(op.InputDims("X")) : op.InputDims("X");
  if (!are_images || r < 1 || r > (1 << 15) || dims[1] % (r * r) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("upscale_factor is ", r, " and X is ", DimsText(op.InputDims("X")),
                     "; want images and its square to divide their channels"));
  }
  const int64_t channels = dims[1] / (r * r);
  const Dims out_dims = form.FromNchw({dims[0], channels, dims[2] * r, dims[3] * r});
  const bool is_nhwc = form.layout() == Layout::kRowMajor;
  const Layout layout = is_nhwc ? Layout::kRowMajor : op.InputLayout("X");
  const bool channels_last = is_nhwc || layout == Layout::kChannelsLast;
  const ImageStrides at(dims, channels_last ? Layout::kChannelsLast : Layout::kRowMajor);
  if (!channels_last) {
    return AddReorder(op, layout, {dims[0], channels, dims[2], r, dims[3], r},
                      {at.batch, at.channel * r * r, at.row, at.channel * r, at.column, at.channel},
                      out_dims);
  }
  return AddReorder(op, layout, {dims[0], dims[2], r, dims[3], r, channels},
                    {at.batch, at.row, at.channel * r, at.column, at.channel, at.channel * r * r},
                    out_dims);
}

absl::StatusOr<DepthBlocks> BlocksOf(const OpPlanner& op) {
  return DepthBlocks::Of(op.InputDims("X"), op.attributes().Int("blocksize"));
}

absl::Status PlanSpaceToDepth(OpPlanner& op) {
  ASSIGN_OR_RETURN(const DepthBlocks blocks, BlocksOf(op));
  return AddReorder(op, Layout::kRowMajor, blocks.places, blocks.strides, blocks.out_dims);
}

absl::Status PlanSpaceToDepthGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const DepthBlocks blocks, BlocksOf(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", blocks.out_dims));
  const VarType::Type dtype = op.InputType("Out@GRAD").dtype;
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::StridedCopy> copy,
                   kernels::StridedCopy::Plan(blocks.places, kernels::RowMajorLayout(blocks.places),
                                              {0, blocks.strides}));
  ASSIGN_OR_RETURN(const Buffer dout, op.Read("Out@GRAD", dtype));
  const Buffer dx = op.WriteAs("X@GRAD", {dtype, op.InputDims("X")});
  return AddCopy(op, dtype, copy, dout, dx);
}

// Adds the step that makes dimension i of `output` of dimension permutation[i] of `input`. Images
// that lie channels last are read as they lie.
absl::Status AddTranspose(OpPlanner& op, absl::string_view input, absl::string_view output,
                          const Dims& permutation) {
  const TensorType type = op.InputType(input);
  const Layout layout = op.InputLayout(input);
  ASSIGN_OR_RETURN(const Buffer from, op.Read(input, type.dtype, layout));
  TensorType out_type{type.dtype, {}};
  Dims axes_in_memory;
  for (const int64_t axis : permutation) {
    out_type.dims.push_back(type.dims[axis]);
    axes_in_memory.push_back(AxisInMemory(static_cast<int>(axis), layout));
  }
  ASSIGN_OR_RETURN(
      const std::shared_ptr<kernels::StridedCopy> copy,
      kernels::StridedCopy::Plan(
          out_type.dims, kernels::TransposedLayout(DimsInMemory(type.dims, layout), axes_in_memory),
          kernels::RowMajorLayout(out_type.dims)));
  const Buffer to = op.WriteAs(output, out_type);
  return AddCopy(op, type.dtype, copy, from, to);
}

absl::Status PlanTranspose(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Dims permutation, PermutationOf(op, op.InputDims("X").size()));
  return AddTranspose(op, "X", "Out", permutation);
}

// XShape has no elements: its dimensions are what the gradient op reads.
absl::Status PlanTransposeWithShape(OpPlanner& op) {
  if (op.Wants("XShape")) RETURN_IF_ERROR(op.Write("XShape").status());
  return PlanTranspose(op);
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Dims permutation, PermutationOf(op, op.InputDims("Out@GRAD").size()));
  Dims inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = i;
  return AddTranspose(op, "Out@GRAD", "X@GRAD", inverse);
}

}  // namespace

OpPlans TranspositionPlans() {
  return {{"transpose", PlanTranspose, AlwaysRoundsOnce},
          {"transpose_grad", PlanGradient},
          {"transpose2", PlanTransposeWithShape, AlwaysRoundsOnce},
          {"transpose2_grad", PlanGradient},
          {"shuffle_channel", PlanShuffleChannel},
          {"pixel_shuffle", PlanPixelShuffle},
          {"space_to_depth", PlanSpaceToDepth, AlwaysRoundsOnce},
          {"space_to_depth_grad", PlanSpaceToDepthGradient}};
}

}  // namespace fixpoint::executor
