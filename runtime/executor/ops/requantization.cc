// Sums of products of codes that become codes by a multiplier and a shift, simulated.

#include "ops/requantization.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/channel_ranges.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/kernels/requantized_sums.h"

namespace fixpoint::executor {
namespace {

// How the elements of X are divided in channels, in the layout that they are held in.
kernels::Channels ChannelsOf(const TensorType& x, int axis, Layout layout) {
  kernels::Channels channels;
  channels.count = x.dims[axis];
  if (layout == Layout::kChannelsLast) {
    channels.outer = x.size() / channels.count;
    return channels;
  }
  for (int i = 0; i < axis; ++i) channels.outer *= x.dims[i];
  for (size_t i = axis + 1; i < x.dims.size(); ++i) channels.inner *= x.dims[i];
  return channels;
}

absl::Status PlanRequantize(OpPlanner& op) {
  RETURN_IF_ERROR(op.OutputType("Out").status());
  const RequantizationOp read = *ReadRequantization(op.op(), op.era());
  RETURN_IF_ERROR(op.CheckSize("InputScale", 1));
  RETURN_IF_ERROR(op.CheckSize("OutputScale", 1));
  const TensorType& type = op.InputType("X");
  const bool are_images = type.dims.size() == 4 && read.channel_axis == 1;
  const Layout layout = are_images ? op.InputLayout("X") : Layout::kRowMajor;
  const int64_t count = type.dims[read.channel_axis];
  if (count == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(type.dims), "; want channels on axis ", read.channel_axis));
  }
  RETURN_IF_ERROR(CheckWeightScale(op.InputDims("WeightScale"), type.dims, read.channel_axis));
  const kernels::Channels channels = ChannelsOf(type, read.channel_axis, layout);
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const Buffer input_range, op.ReadFloats("InputScale"));
  ASSIGN_OR_RETURN(const Buffer weight_ranges, op.ReadFloats("WeightScale"));
  ASSIGN_OR_RETURN(const Buffer output_range, op.ReadFloats("OutputScale"));
  const Buffer steps = op.Scratch("steps", VarType::FP32, count);
  const Buffer factors = op.Scratch("factors", VarType::FP32, count);
  op.AddStep({{input_range, weight_ranges, output_range},
              {steps, factors},
              [=](const StepContext& run) {
                const absl::Span<const float> of_weights = run.Floats(weight_ranges);
                for (int64_t c = 0; c < count; ++c) {
                  const float step = read.StepOfSums(run.Floats(input_range)[0],
                                                     of_weights[c % of_weights.size()]);
                  run.Floats(steps)[c] = step;
                  run.Floats(factors)[c] = read.Factor(step, run.Floats(output_range)[0]);
                }
                return absl::OkStatus();
              },
              "",
              0,
              "multipliers"});
  const Buffer out = op.WriteOver("Out", type, layout, x);
  op.AddStep({{x, steps, factors, output_range}, {out}, [=](const StepContext& run) {
                kernels::RequantizeSums(
                    run.Floats(x), {run.Floats(steps), run.Floats(factors)}, channels,
                    read.roundings, read.StepOfCodes(run.Floats(output_range)[0]), run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans RequantizationPlans() { return {{kRequantize, PlanRequantize}}; }

}  // namespace fixpoint::executor
