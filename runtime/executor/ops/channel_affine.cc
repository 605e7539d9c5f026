// A factor and an addend for each channel. Images lie channels last.

#include "runtime/kernels/channel_affine.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

struct Channels {
  Layout layout;  // in which they are last
  int64_t count;
};

absl::StatusOr<Channels> ChannelsOf(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const bool are_on_axis_1 = op.attributes().String("data_layout") == "NCHW";
  if (x.size() < 2 || (are_on_axis_1 && x.size() != 2 && x.size() != 4)) {
    return absl::UnimplementedError(
        absl::StrCat("X is ", DimsText(x), "; want 2 or 4 dimensions, or channels last"));
  }
  const bool are_turned = are_on_axis_1 && x.size() == 4;
  const Channels channels{are_turned ? Layout::kChannelsLast : Layout::kRowMajor,
                          are_on_axis_1 ? x[1] : x.back()};
  RETURN_IF_ERROR(op.CheckDims("Scale", {channels.count}));
  return channels;
}

absl::Status PlanChannelAffine(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Channels channels, ChannelsOf(op));
  RETURN_IF_ERROR(op.CheckDims("Bias", {channels.count}));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", channels.layout));
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(const Buffer bias, op.ReadFloats("Bias"));
  const Buffer out = op.WriteOver("Out", op.InputType("X"), channels.layout, x);
  op.AddStep({{x, scale, bias}, {out}, [=](const StepContext& run) {
                kernels::ChannelAffine(run.Floats(x), run.Floats(scale), run.Floats(bias),
                                       run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Channels channels, ChannelsOf(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", op.InputDims("X")));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", channels.layout));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD", channels.layout));
  const Buffer of_dout = op.Scratch("sums", VarType::FP64, channels.count);
  const Buffer of_products = op.Scratch("sums of products", VarType::FP64, channels.count);
  const Buffer dscale = op.WriteAs("Scale@GRAD", op.InputType("Scale"));
  const Buffer dbias = op.WriteAs("Bias@GRAD", op.InputType("Scale"));
  op.AddStep({{x, dout}, {dscale, dbias, of_dout, of_products}, [=](const StepContext& run) {
                const absl::Span<double> sums = run.Of<double>(of_dout);
                const absl::Span<double> products = run.Of<double>(of_products);
                kernels::ChannelSums(run.Floats(x), run.Floats(dout), sums, products);
                std::copy(sums.begin(), sums.end(), run.Floats(dbias).begin());
                std::copy(products.begin(), products.end(), run.Floats(dscale).begin());
                return absl::OkStatus();
              }});
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  const Buffer zeros = op.Scratch("zeros", VarType::FP32, channels.count);
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"), channels.layout);
  op.AddStep({{dout, scale}, {dx, zeros}, [=](const StepContext& run) {
                const absl::Span<float> addends = run.Floats(zeros);
                std::fill(addends.begin(), addends.end(), 0.0f);
                kernels::ChannelAffine(run.Floats(dout), run.Floats(scale), addends,
                                       run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans ChannelAffinePlans() {
  return {{"affine_channel", PlanChannelAffine}, {"affine_channel_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
