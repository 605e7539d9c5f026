// Quantization with a learned range, and its gradient: Learned Step Size Quantization (Esser et al.
// 2020, arXiv 1902.08153).

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/quantized.h"
#include "runtime/kernels/fake_quantize.h"
#include "runtime/kernels/learned_range.h"

namespace fixpoint::executor {
namespace {

// Gives those ranges that no step has found yet their first value.
void Initialize(const kernels::Channels& channels, int32_t largest_code, absl::Span<const float> x,
                absl::Span<float> ranges, absl::Span<float> initialized) {
  const bool is_done =
      std::all_of(initialized.begin(), initialized.end(), [](float value) { return value != 0; });
  if (is_done) return;
  std::vector<double> means(ranges.size());
  kernels::MeanAbsolutes(channels, x, absl::MakeSpan(means));
  for (size_t c = 0; c < ranges.size(); ++c) {
    if (initialized[c] != 0) continue;
    const FirstRange first = FirstRangeOf(means[c], largest_code);
    ranges[c] = first.range;
    initialized[c] = first.is_found ? 1 : 0;
  }
}

void CopyIfElsewhere(absl::Span<const float> from, absl::Span<float> to) {
  if (from.data() != to.data()) std::copy(from.begin(), from.end(), to.begin());
}

absl::Status PlanQuantize(OpPlanner& op) {
  RETURN_IF_ERROR(op.OutputType("Out").status());
  ASSIGN_OR_RETURN(const CodeOp quantize, CodeOpOf(op));
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, quantize.axis));
  const TensorType type{VarType::FP32, {view.channels.count}};
  RETURN_IF_ERROR(op.CheckSize("InScale", view.channels.count));
  ASSIGN_OR_RETURN(const Buffer before, op.ReadFloats("InScale"));
  if (op.IsTest()) {
    if (op.Wants("OutScale")) {
      RETURN_IF_ERROR(op.builder().Share(op.OutputValue("OutScale"), op.InputValue("InScale")));
    }
    return AddQuantize(op, quantize, before);
  }
  RETURN_IF_ERROR(op.CheckSize("InInitialized", view.channels.count));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", view.layout));
  ASSIGN_OR_RETURN(const Buffer initialized_before, op.ReadFloats("InInitialized"));
  const Buffer ranges = op.WriteOver("OutScale", type, Layout::kRowMajor, before);
  const Buffer initialized =
      op.WriteOver("OutInitialized", type, Layout::kRowMajor, initialized_before);
  op.AddStep({{x, before, initialized_before},
              {ranges, initialized},
              [=, channels = view.channels,
               largest_code = quantize.codes.largest](const StepContext& run) {
                CopyIfElsewhere(run.Floats(before), run.Floats(ranges));
                CopyIfElsewhere(run.Floats(initialized_before), run.Floats(initialized));
                Initialize(channels, largest_code, run.Floats(x), run.Floats(ranges),
                           run.Floats(initialized));
                return absl::OkStatus();
              },
              "",
              0,
              "find first range"});
  return AddQuantize(op, quantize, ranges);
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CodeRange codes,
                   ReadCodeRange(op.attributes().op(), op.era(), kLeastBitsOfOps));
  ASSIGN_OR_RETURN(const int axis, ReadChannelAxis(op.attributes().op(), op.era()));
  const bool has_channels = axis != -1;
  ASSIGN_OR_RETURN(ChannelView view,
                   ViewChannels(op, has_channels ? std::optional(axis) : std::nullopt));
  if (!has_channels) view.layout = op.InputLayout("Out@GRAD");
  RETURN_IF_ERROR(op.CheckSize("OutScale", view.channels.count));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", op.InputType("X").size()));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", view.layout));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD", view.layout));
  ASSIGN_OR_RETURN(const Buffer ranges, op.ReadFloats("OutScale"));
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("X"), view.layout, dy);
  const Buffer dranges = op.WriteAs("InScale@GRAD", {VarType::FP32, {view.channels.count}});
  double sharing = static_cast<double>(view.channels.outer * view.channels.inner);
  if (op.attributes().Bool("per_sample")) {
    sharing /= static_cast<double>(op.InputDims("X")[0]);
  }
  const double factor = x.size > 0 ? std::sqrt(codes.largest / sharing) : 0;
  op.AddStep(
      {{x, dy, ranges}, {dx, dranges}, [=, channels = view.channels](const StepContext& run) {
         kernels::LearnedRangeBackward(codes, channels, run.Floats(x), run.Floats(ranges),
                                       run.Floats(dy), factor, run.Floats(dx), run.Floats(dranges));
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

}  // namespace

OpPlans LearnedQuantizePlans() {
  return {
      {"fake_quantize_dequantize_lsq", PlanQuantize},
      {"fake_quantize_dequantize_lsq_grad", PlanGradient},
      {"fake_channel_wise_quantize_dequantize_lsq", PlanQuantize},
      {"fake_channel_wise_quantize_dequantize_lsq_grad", PlanGradient},
  };
}

}  // namespace fixpoint::executor
