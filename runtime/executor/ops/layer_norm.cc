// Normalization of the rows of a tensor.

#include "runtime/kernels/layer_norm.h"

#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_step.h"

namespace fixpoint::executor {
namespace {

using kernels::LayerNorm;
using kernels::LayerNormShape;

// X, seen from begin_norm_axis on as rows.
absl::StatusOr<LayerNormShape> ShapeOf(const OpPlanner& op) {
  const Dims& dims = op.InputDims("X");
  const int64_t begin = op.attributes().Int("begin_norm_axis");
  if (begin < 1 || begin >= static_cast<int64_t>(dims.size())) {
    return absl::InvalidArgumentError(absl::StrCat("begin_norm_axis is ", begin, " and X is ",
                                                   DimsText(dims), "; want 1 to ",
                                                   static_cast<int64_t>(dims.size()) - 1));
  }
  LayerNormShape shape;
  shape.epsilon = op.Number("epsilon");
  for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i) {
    (i < begin ? shape.rows : shape.width) *= dims[i];
  }
  return shape;
}

// An input of `size` elements; nothing where it may be absent and is.
absl::StatusOr<std::optional<Buffer>> ReadVector(OpPlanner& op, absl::string_view slot,
                                                 int64_t size) {
  if (!op.HasInput(slot)) return std::nullopt;
  RETURN_IF_ERROR(op.CheckSize(slot, size));
  return op.ReadFloats(slot);
}

absl::Span<float> FloatsOrNone(const StepContext& run, const std::optional<Buffer>& buffer) {
  return buffer ? run.Floats(*buffer) : absl::Span<float>();
}

void AddIfThere(const std::optional<Buffer>& buffer, std::vector<Buffer>* buffers) {
  if (buffer) buffers->push_back(*buffer);
}

absl::Status PlanLayerNorm(OpPlanner& op) {
  ASSIGN_OR_RETURN(const LayerNormShape shape, ShapeOf(op));
  ASSIGN_OR_RETURN(const std::shared_ptr<LayerNorm> layer_norm, LayerNorm::Plan(shape));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const std::optional<Buffer> scale, ReadVector(op, "Scale", shape.width));
  ASSIGN_OR_RETURN(const std::optional<Buffer> bias, ReadVector(op, "Bias", shape.width));
  std::vector<Buffer> reads = {x};
  AddIfThere(scale, &reads);
  AddIfThere(bias, &reads);
  const Buffer y = op.WriteOver("Y", op.InputType("X"), Layout::kRowMajor, x);
  if (op.attributes().Int("begin_norm_axis") == 1) op.KeepRows("X", "Y");
  if (!op.Wants("Mean") && !op.Wants("Variance") && shape.size() > 0) {
    std::vector<Buffer> whole;
    AddIfThere(scale, &whole);
    AddIfThere(bias, &whole);
    AddRowStep(op, {x}, whole, y, shape.width,
               [layer_norm, has_scale = scale.has_value(),
                has_bias = bias.has_value()](const kernels::ElementBlock& block) {
                 const absl::Span<const float> none;
                 layer_norm->Normalize(block.In<float>(0), has_scale ? block.In<float>(1) : none,
                                       has_bias ? block.In<float>(has_scale ? 2 : 1) : none,
                                       block.Out<float>());
               });
    return absl::OkStatus();
  }
  const Buffer mean = op.WriteAs("Mean", {VarType::FP32, {shape.rows}});
  const Buffer variance = op.WriteAs("Variance", {VarType::FP32, {shape.rows}});
  if (op.attributes().Int("begin_norm_axis") == 1) {
    op.KeepRows("X", "Mean");
    op.KeepRows("X", "Variance");
  }
  op.AddStep({reads,
              {y, mean, variance},
              [=](const StepContext& run) {
                layer_norm->Forward(run.Floats(x), FloatsOrNone(run, scale),
                                    FloatsOrNone(run, bias), run.Floats(y), run.Floats(mean),
                                    run.Floats(variance));
                return absl::OkStatus();
              },
              layer_norm->implementation()});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const LayerNormShape shape, ShapeOf(op));
  ASSIGN_OR_RETURN(const std::shared_ptr<LayerNorm> layer_norm, LayerNorm::Plan(shape));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const std::optional<Buffer> dy, ReadVector(op, "Y@GRAD", shape.size()));
  ASSIGN_OR_RETURN(const std::optional<Buffer> scale, ReadVector(op, "Scale", shape.width));
  std::vector<Buffer> reads = {x, *dy};
  AddIfThere(scale, &reads);
  const TensorType row{VarType::FP32, {shape.width}};
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("X"), Layout::kRowMajor, *dy);
  std::optional<Buffer> dscale;
  std::optional<Buffer> dbias;
  if (op.Wants("Scale@GRAD")) dscale = op.WriteAs("Scale@GRAD", row);
  if (op.Wants("Bias@GRAD")) dbias = op.WriteAs("Bias@GRAD", row);
  std::vector<Buffer> writes = {dx};
  AddIfThere(dscale, &writes);
  AddIfThere(dbias, &writes);
  op.AddStep({reads, writes,
              [=](const StepContext& run) {
                layer_norm->Backward(run.Floats(x), run.Floats(*dy), FloatsOrNone(run, scale),
                                     run.Floats(dx), FloatsOrNone(run, dscale),
                                     FloatsOrNone(run, dbias));
                return absl::OkStatus();
              },
              layer_norm->implementation()});
  return absl::OkStatus();
}

}  // namespace

OpPlans LayerNormPlans() {
  return {{"layer_norm", PlanLayerNorm}, {"layer_norm_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
