// Normalization of images over groups of their channels, or over each channel, in the layout in
// which they are held.

#include "runtime/kernels/group_norm.h"

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

using kernels::GroupNorm;
using kernels::GroupNormShape;

// An input [batch, channels, ...] or, `is_nhwc`, [batch, ..., channels].
absl::StatusOr<GroupNormShape> ShapeOf(const OpPlanner& op, Layout layout, bool is_nhwc = false,
                                       absl::string_view slot = "X") {
  const Dims& dims = op.InputDims(slot);
  if (dims.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(slot, " is ", DimsText(dims), "; want 2 dimensions or more"));
  }
  GroupNormShape shape;
  shape.batch = dims[0];
  const size_t channel_axis = is_nhwc ? dims.size() - 1 : 1;
  shape.channels = dims[channel_axis];
  for (size_t i = 1; i < dims.size(); ++i) {
    if (i != channel_axis) shape.places *= dims[i];
  }
  shape.groups = shape.channels;
  shape.channels_last = is_nhwc || layout == Layout::kChannelsLast;
  shape.epsilon = op.Number("epsilon");
  return shape;
}

// An input with one value for each channel; nothing if it may be absent and is.
absl::StatusOr<std::optional<Buffer>> ReadChannels(OpPlanner& op, absl::string_view slot,
                                                   const GroupNormShape& shape) {
  if (!op.HasInput(slot)) return std::nullopt;
  RETURN_IF_ERROR(op.CheckSize(slot, shape.channels));
  return op.ReadFloats(slot);
}

absl::Span<float> FloatsOrNone(const StepContext& run, const std::optional<Buffer>& buffer) {
  return buffer ? run.Floats(*buffer) : absl::Span<float>();
}

std::vector<Buffer> With(std::vector<Buffer> buffers,
                         std::initializer_list<std::optional<Buffer>> more) {
  for (const std::optional<Buffer>& buffer : more) {
    if (buffer) buffers.push_back(*buffer);
  }
  return buffers;
}

// The outputs of the statistics of all groups; the last one inverted, if requested.
struct Statistics {
  const char* mean;
  const char* variance;
  Dims dims;
  bool is_inverse_deviation;
};

absl::Status AddNorm(OpPlanner& op, const GroupNormShape& shape, Layout layout,
                     const Statistics& statistics) {
  ASSIGN_OR_RETURN(const std::shared_ptr<GroupNorm> norm, GroupNorm::Plan(shape));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const std::optional<Buffer> scale, ReadChannels(op, "Scale", shape));
  ASSIGN_OR_RETURN(const std::optional<Buffer> bias, ReadChannels(op, "Bias", shape));
  const Buffer y = op.WriteOver("Y", op.InputType("X"), layout, x);
  const Buffer mean = op.WriteAs(statistics.mean, {VarType::FP32, statistics.dims});
  const Buffer variance = op.WriteAs(statistics.variance, {VarType::FP32, statistics.dims});
  op.AddStep({With({x}, {scale, bias}),
              {y, mean, variance},
              [=, inverts = statistics.is_inverse_deviation](const StepContext& run) {
                norm->Forward(run.Floats(x), FloatsOrNone(run, scale), FloatsOrNone(run, bias),
                              run.Floats(y), run.Floats(mean), run.Floats(variance));
                if (!inverts) return absl::OkStatus();
                for (float& v : run.Floats(variance)) {
                  v = static_cast<float>(1 / std::sqrt(static_cast<double>(v) + shape.epsilon));
                }
                return absl::OkStatus();
              },
              norm->implementation()});
  return absl::OkStatus();
}

absl::Status PlanGroupNorm(OpPlanner& op) {
  const bool is_nhwc = IsChannelsLast(op.attributes().String("data_layout"));
  const Layout layout = is_nhwc ? Layout::kRowMajor : op.InputLayout("X");
  ASSIGN_OR_RETURN(GroupNormShape shape, ShapeOf(op, layout, is_nhwc));
  shape.groups = op.attributes().Int("groups");
  return AddNorm(op, shape, layout, {"Mean", "Variance", {shape.batch, shape.groups}, false});
}

absl::Status PlanInstanceNorm(OpPlanner& op) {
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const GroupNormShape shape, ShapeOf(op, layout));
  return AddNorm(op, shape, layout,
                 {"SavedMean", "SavedVariance", {shape.batch * shape.channels}, true});
}

// What the gradient op of a norm reads and writes beside its images.
struct NormGradient {
  std::shared_ptr<GroupNorm> norm;
  Buffer dy;
  std::optional<Buffer> scale;
  Buffer dx;
  std::optional<Buffer> dscale;
  std::optional<Buffer> dbias;

  std::vector<Buffer> outputs() const { return With({dx}, {dscale, dbias}); }
};

absl::StatusOr<NormGradient> NormGradientOf(OpPlanner& op, const GroupNormShape& shape,
                                            Layout layout) {
  NormGradient gradient;
  ASSIGN_OR_RETURN(gradient.norm, GroupNorm::Plan(shape));
  ASSIGN_OR_RETURN(gradient.dy, op.ReadFloats("Y@GRAD", layout));
  ASSIGN_OR_RETURN(gradient.scale, ReadChannels(op, "Scale", shape));
  const TensorType channels{VarType::FP32, {shape.channels}};
  gradient.dx = op.WriteOver("X@GRAD", op.InputType("Y@GRAD"), layout, gradient.dy);
  if (op.Wants("Scale@GRAD")) gradient.dscale = op.WriteAs("Scale@GRAD", channels);
  if (op.Wants("Bias@GRAD")) gradient.dbias = op.WriteAs("Bias@GRAD", channels);
  return gradient;
}

absl::Status AddGradient(OpPlanner& op, const GroupNormShape& shape, Layout layout) {
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", op.InputDims("X")));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const NormGradient gradient, NormGradientOf(op, shape, layout));
  op.AddStep({With({x, gradient.dy}, {gradient.scale}), gradient.outputs(),
              [=](const StepContext& run) {
                gradient.norm->Backward(run.Floats(x), run.Floats(gradient.dy),
                                        FloatsOrNone(run, gradient.scale), run.Floats(gradient.dx),
                                        FloatsOrNone(run, gradient.dscale),
                                        FloatsOrNone(run, gradient.dbias));
                return absl::OkStatus();
              },
              gradient.norm->implementation()});
  return absl::OkStatus();
}

absl::Status AddGradientFromOutput(OpPlanner& op, const GroupNormShape& shape, Layout layout) {
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", op.InputDims("Y")));
  RETURN_IF_ERROR(op.CheckSize("Variance", shape.batch * shape.groups));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Y", layout));
  ASSIGN_OR_RETURN(const Buffer variance, op.ReadFloats("Variance"));
  ASSIGN_OR_RETURN(const std::optional<Buffer> bias, ReadChannels(op, "Bias", shape));
  ASSIGN_OR_RETURN(const NormGradient gradient, NormGradientOf(op, shape, layout));
  op.AddStep({With({y, variance, gradient.dy}, {gradient.scale, bias}), gradient.outputs(),
              [=](const StepContext& run) {
                gradient.norm->BackwardFromOutput(
                    run.Floats(y), run.Floats(variance), run.Floats(gradient.dy),
                    FloatsOrNone(run, gradient.scale), FloatsOrNone(run, bias),
                    run.Floats(gradient.dx), FloatsOrNone(run, gradient.dscale),
                    FloatsOrNone(run, gradient.dbias));
                return absl::OkStatus();
              },
              gradient.norm->implementation()});
  return absl::OkStatus();
}

absl::Status PlanInstanceNormGradient(OpPlanner& op) {
  const Layout layout = op.InputLayout("Y@GRAD");
  ASSIGN_OR_RETURN(const GroupNormShape shape, ShapeOf(op, layout));
  return AddGradient(op, shape, layout);
}

// Before 2.0 the gradient op is not given X.
absl::Status PlanGroupNormGradient(OpPlanner& op) {
  const bool has_x = op.era() == Era::kPaddle2;
  const bool is_nhwc = IsChannelsLast(op.attributes().String("data_layout"));
  const Layout layout = is_nhwc ? Layout::kRowMajor : op.InputLayout("Y@GRAD");
  ASSIGN_OR_RETURN(GroupNormShape shape, ShapeOf(op, layout, is_nhwc, has_x ? "X" : "Y"));
  shape.groups = op.attributes().Int("groups");
  return has_x ? AddGradient(op, shape, layout) : AddGradientFromOutput(op, shape, layout);
}

}  // namespace

OpPlans GroupNormPlans() {
  return {{"group_norm", PlanGroupNorm},
          {"group_norm_grad", PlanGroupNormGradient},
          {"instance_norm", PlanInstanceNorm},
          {"instance_norm_grad", PlanInstanceNormGradient}};
}

}  // namespace fixpoint::executor
