// Quantization at a range that other steps give, and its gradient.

#include <optional>

#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "ops/surrogate.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/quantized.h"
#include "runtime/kernels/range_gradient.h"

namespace fixpoint::executor {
namespace {

absl::Status PlanQuantize(OpPlanner& op) {
  RETURN_IF_ERROR(op.OutputType("Out").status());
  ASSIGN_OR_RETURN(const CodeOp quantize, CodeOpOf(op));
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, quantize.axis));
  RETURN_IF_ERROR(op.CheckSize("InScale", view.channels.count));
  ASSIGN_OR_RETURN(const Buffer ranges, op.ReadFloats("InScale"));
  return AddQuantize(op, quantize, ranges);
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CodeRange codes, ReadCodeRange(op.attributes().op(), op.era()));
  ASSIGN_OR_RETURN(const Surrogate surrogate, SurrogateOf(op.attributes().String(kSurrogateAttr)));
  ASSIGN_OR_RETURN(const int axis, ReadChannelAxis(op.attributes().op(), op.era()));
  const bool has_channels = axis != -1;
  ASSIGN_OR_RETURN(ChannelView view,
                   ViewChannels(op, has_channels ? std::optional(axis) : std::nullopt));
  if (!has_channels) view.layout = op.InputLayout("Out@GRAD");
  RETURN_IF_ERROR(op.CheckSize("InScale", view.channels.count));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", op.InputType("X").size()));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", view.layout));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD", view.layout));
  ASSIGN_OR_RETURN(const Buffer ranges, op.ReadFloats("InScale"));
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("X"), view.layout, dy);
  const Buffer dranges = op.WriteAs("InScale@GRAD", {VarType::FP32, {view.channels.count}});
  op.AddStep(
      {{x, dy, ranges}, {dx, dranges}, [=, channels = view.channels](const StepContext& run) {
         kernels::RangeBackward(codes, surrogate, channels, run.Floats(x), run.Floats(ranges),
                                run.Floats(dy), run.Floats(dx), run.Floats(dranges));
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

}  // namespace

OpPlans QuantizeAtRangePlans() {
  return {
      {"fake_quantize_dequantize_at_range", PlanQuantize},
      {"fake_quantize_dequantize_at_range_grad", PlanGradient},
      {"scale_gradient",
       [](OpPlanner& op) { return op.builder().Share(op.OutputValue("Out"), op.InputValue("X")); }},
  };
}

}  // namespace fixpoint::executor
