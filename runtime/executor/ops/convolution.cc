// conv2d and depthwise_conv2d. Images lie channels last. Where both inputs are codes the sums are
// those of integers; the gradients read the numbers that the codes stand for.

#include "runtime/kernels/convolution.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/window.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/integer_operands.h"
#include "runtime/kernels/integer_convolution.h"

namespace fixpoint::executor {
namespace {

absl::StatusOr<kernels::ConvolutionShape> ShapeOf(const OpPlanner& op) {
  const OpAttributes& attributes = op.attributes();
  const Dims& image = op.InputDims("Input");
  const Dims& filter = op.InputDims("Filter");
  if (IsChannelsLast(attributes.String("data_format"))) {
    return absl::UnimplementedError("data_format is NHWC; want NCHW");
  }
  if (attributes.Bool("fuse_relu_before_depthwise_conv")) {
    return absl::UnimplementedError("fuse_relu_before_depthwise_conv is true; want false");
  }
  kernels::ConvolutionShape shape;
  shape.groups = attributes.Int("groups");
  const bool fits = image.size() == 4 && filter.size() == 4 && shape.groups >= 1 &&
                    filter[1] * shape.groups == image[1] && filter[0] % shape.groups == 0;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(image), " and Filter ",
                                                   DimsText(filter), " in ", shape.groups,
                                                   " groups; want channels that fit"));
  }
  shape.batch = image[0];
  shape.channels = image[1];
  shape.height = image[2];
  shape.width = image[3];
  shape.filters = filter[0];
  const WindowAttrs window{attributes.Ints("strides"), attributes.Ints("paddings"),
                           attributes.Ints("dilations"), attributes.String("padding_algorithm")};
  ASSIGN_OR_RETURN(shape.window,
                   MakeWindow(window, DimsView(filter).subspan(2), DimsView(image).subspan(2)));
  RETURN_IF_ERROR(kernels::CompleteShape(&shape));
  return shape;
}

TensorType OutputOf(const kernels::ConvolutionShape& shape) {
  return {VarType::FP32, {shape.batch, shape.filters, shape.out_height, shape.out_width}};
}

int64_t OperationsOf(const kernels::ConvolutionShape& shape) {
  return 2 * shape.output_size() * shape.taps();
}

absl::Status PlanConvolution(OpPlanner& op) {
  for (const char* slot : {"Bias", "ResidualData"}) {
    if (op.HasInput(slot)) {
      return absl::UnimplementedError(absl::StrCat("input ", slot, " is there; want it absent"));
    }
  }
  ASSIGN_OR_RETURN(const kernels::ConvolutionShape shape, ShapeOf(op));
  const Buffer y = op.WriteAs("Output", OutputOf(shape), Layout::kChannelsLast);
  ASSIGN_OR_RETURN(
      const std::optional<IntegerOperands> integers,
      ReadIntegerOperands(op, "Input", Layout::kChannelsLast, "Filter", /*channel_axis=*/0));
  if (integers) {
    auto sums = kernels::PlanIntegerConvolution(shape, integers->inputs.type);
    if (sums.ok()) {
      AddIntegerSums(op, *integers, *std::move(sums), shape.filters, OperationsOf(shape), y);
      return absl::OkStatus();
    }
    // A sum that may not fit in 32 bits is one of floats.
    if (!absl::IsInvalidArgument(sums.status())) return sums.status();
  }
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("Input", Layout::kChannelsLast));
  ASSIGN_OR_RETURN(const Buffer filter, op.ReadFloats("Filter"));
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::ConvolutionForward> convolution,
                   kernels::ConvolutionForward::Plan(shape));
  op.AddStep({{x, filter},
              {y},
              [=](const StepContext& run) {
                convolution->Run(run.Floats(x), run.Floats(filter), run.Floats(y));
                return absl::OkStatus();
              },
              convolution->implementation(),
              OperationsOf(shape)});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::ConvolutionShape shape, ShapeOf(op));
  if (op.InputDims("Output@GRAD") != OutputOf(shape).dims) {
    return absl::InvalidArgumentError(absl::StrCat("Output@GRAD is ",
                                                   DimsText(op.InputDims("Output@GRAD")), "; want ",
                                                   DimsText(OutputOf(shape).dims)));
  }
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Output@GRAD", Layout::kChannelsLast));
  if (op.Wants("Filter@GRAD")) {
    ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("Input", Layout::kChannelsLast));
    const Buffer dfilter = op.WriteAs("Filter@GRAD", op.InputType("Filter"));
    ASSIGN_OR_RETURN(std::shared_ptr<kernels::ConvolutionBackwardFilters> backward,
                     kernels::ConvolutionBackwardFilters::Plan(shape));
    op.AddStep({{x, dy},
                {dfilter},
                [=](const StepContext& run) {
                  backward->Run(run.Floats(x), run.Floats(dy), run.Floats(dfilter));
                  return absl::OkStatus();
                },
                backward->implementation(),
                OperationsOf(shape),
                absl::StrCat(op.op().type(), " of filters")});
  }
  if (op.Wants("Input@GRAD")) {
    ASSIGN_OR_RETURN(const Buffer filter, op.ReadFloats("Filter"));
    const Buffer dx = op.WriteAs("Input@GRAD", op.InputType("Input"), Layout::kChannelsLast);
    ASSIGN_OR_RETURN(std::shared_ptr<kernels::ConvolutionBackwardImages> backward,
                     kernels::ConvolutionBackwardImages::Plan(shape));
    op.AddStep({{dy, filter},
                {dx},
                [=](const StepContext& run) {
                  backward->Run(run.Floats(dy), run.Floats(filter), run.Floats(dx));
                  return absl::OkStatus();
                },
                backward->implementation(),
                OperationsOf(shape),
                absl::StrCat(op.op().type(), " of images")});
  }
  return absl::OkStatus();
}

}  // namespace

OpPlans ConvolutionPlans() {
  return {{"conv2d", PlanConvolution},
          {"conv2d_grad", PlanGradient},
          {"depthwise_conv2d", PlanConvolution},
          {"depthwise_conv2d_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
