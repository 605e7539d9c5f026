// conv3d, conv3d_transpose and their gradients, of floats.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/fused_work.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/kernels/volume_convolution.h"

namespace fixpoint::executor {
namespace {

using kernels::VolumeConvolution;
using kernels::VolumeResult;
using kernels::VolumeShape;

// The shape of the convolution of volumes `x` to volumes `y`, both as they lie in memory.
absl::StatusOr<VolumeShape> ShapeOf(const OpPlanner& op, const Dims& x, const Dims& y) {
  const OpAttributes& attributes = op.attributes();
  const Dims& filter = op.InputDims("Filter");
  VolumeShape shape;
  shape.groups = attributes.Int("groups");
  shape.channels_last = AreChannelsLast(attributes.String("data_format"));
  const Dims& input = op.InputDims("Input");
  if (x.size() == 5 && filter.size() == 5 && input.size() == 5) {
    const auto first = x.begin() + (shape.channels_last ? 1 : 2);
    shape.batch = x[0];
    shape.channels = x[shape.channels_last ? 4 : 1];
    shape.sizes = Dims(first, first + 3);
    shape.filters = filter[0];
    // SAME pads by the size of Input, which of a transposed convolution is y.
    const WindowAttrs window{attributes.Ints("strides"), attributes.Ints("paddings"),
                             attributes.Ints("dilations"), attributes.String("padding_algorithm")};
    ASSIGN_OR_RETURN(shape.window,
                     MakeWindowAxes(window, DimsView(filter).subspan(2),
                                    DimsView(input).subspan(shape.channels_last ? 1 : 2, 3)));
    RETURN_IF_ERROR(kernels::CompleteShape(&shape));
    if (shape.y_dims() == y && filter[1] * shape.groups == shape.channels) return shape;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Input is ", DimsText(op.InputDims("Input")), " and Filter ", DimsText(filter),
                   " in ", shape.groups, " groups; want volumes and channels that fit"));
}

// Adds the step that computes one of a convolution's operands from the two others.
absl::Status AddConvolution(OpPlanner& op, const VolumeShape& shape, VolumeResult result,
                            Buffer first, Buffer second, Buffer to, std::string name = "") {
  ASSIGN_OR_RETURN(const std::shared_ptr<VolumeConvolution> convolution,
                   VolumeConvolution::Plan(shape, result));
  int64_t products = shape.taps();
  for (const int64_t dim : shape.y_dims()) products *= dim;
  op.AddStep({{first, second},
              {to},
              [=](const StepContext& run) {
                convolution->Run(run.Floats(first), run.Floats(second), run.Floats(to));
                return absl::OkStatus();
              },
              convolution->implementation(),
              2 * products,
              std::move(name)});
  return absl::OkStatus();
}

absl::Status PlanConvolution(OpPlanner& op) {
  RETURN_IF_ERROR(CheckNothingFused(op.op()));
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Output"));
  ASSIGN_OR_RETURN(const VolumeShape shape, ShapeOf(op, op.InputDims("Input"), type.dims));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("Input"));
  ASSIGN_OR_RETURN(const Buffer filter, ReadWeightFloats(op, "Filter"));
  return AddConvolution(op, shape, VolumeResult::kOutput, x, filter, op.WriteAs("Output", type));
}

absl::Status PlanTransposed(OpPlanner& op) {
  RETURN_IF_ERROR(CheckNothingFused(op.op()));
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Output"));
  ASSIGN_OR_RETURN(const VolumeShape shape, ShapeOf(op, type.dims, op.InputDims("Input")));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("Input"));
  ASSIGN_OR_RETURN(const Buffer filter, ReadWeightFloats(op, "Filter"));
  return AddConvolution(op, shape, VolumeResult::kVolumes, x, filter, op.WriteAs("Output", type));
}

// Of both: those of a transposed one are a convolution, and the filters of one with its operands
// exchanged.
absl::Status PlanGradients(OpPlanner& op, bool is_transposed) {
  RETURN_IF_ERROR(CheckNothingFused(op.op()));
  const Dims& input = op.InputDims("Input");
  const Dims& output = op.InputDims("Output@GRAD");
  ASSIGN_OR_RETURN(const VolumeShape shape,
                   is_transposed ? ShapeOf(op, output, input) : ShapeOf(op, input, output));
  ASSIGN_OR_RETURN(const Buffer doutput, op.ReadFloats("Output@GRAD"));
  if (op.Wants("Filter@GRAD")) {
    ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("Input"));
    const Buffer dfilter = op.WriteAs("Filter@GRAD", op.InputType("Filter"));
    RETURN_IF_ERROR(AddConvolution(op, shape, VolumeResult::kFilters, is_transposed ? doutput : x,
                                   is_transposed ? x : doutput, dfilter,
                                   absl::StrCat(op.type(), " of filters")));
  }
  if (!op.Wants("Input@GRAD")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Buffer filter, op.ReadFloats("Filter"));
  return AddConvolution(op, shape, is_transposed ? VolumeResult::kOutput : VolumeResult::kVolumes,
                        doutput, filter, op.WriteAs("Input@GRAD", op.InputType("Input")),
                        absl::StrCat(op.type(), " of volumes"));
}

}  // namespace

OpPlans VolumesPlans() {
  return {{"conv3d", PlanConvolution},
          {"conv3d_grad", [](OpPlanner& op) { return PlanGradients(op, false); }},
          {"conv3d_transpose", PlanTransposed},
          {"conv3d_transpose_grad", [](OpPlanner& op) { return PlanGradients(op, true); }}};
}

}  // namespace fixpoint::executor
