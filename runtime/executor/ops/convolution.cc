// conv2d, conv2d_transpose and their depthwise forms. Images lie channels last. Where both inputs
// are codes, the sums are computed on integers; the gradients read the floats that the codes stand
// for or, in bfloat16, the codes. A conv2d also does the work of the ops after it (epilogue.h), and
// so does any on integers.

#include "runtime/executor/ops/convolution.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/fused_work.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/bfloat16_operands.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/executor/ops/gradient_codes.h"
#include "runtime/executor/ops/image_form.h"
#include "runtime/executor/ops/int8_convolution.h"
#include "runtime/executor/ops/on_integers.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/kernels/bfloat16.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/integer_convolution.h"
#include "runtime/kernels/integer_transposed_convolution.h"
#include "runtime/kernels/wide_sums.h"

namespace fixpoint::executor {
namespace {

ImageForm FormOf(const OpPlanner& op) { return ImageForm(op.attributes().String("data_format")); }

TensorType OutputOf(const kernels::ConvolutionShape& shape, const ImageForm& form) {
  return {VarType::FP32,
          form.FromNchw({shape.batch, shape.filters, shape.out_height, shape.out_width})};
}

int64_t OperationsOf(const kernels::ConvolutionShape& shape) {
  return 2 * shape.output_size() * shape.taps();
}

// Adds the step that computes `output` and the work of the ops after it.
absl::Status AddForward(OpPlanner& op, const kernels::ConvolutionShape& shape, Buffer x,
                        Buffer filter, const EpilogueInput& output, const OwnStages& own,
                        OpsAfter after, std::string name = "") {
  after.adds_to_output = own.epilogue.empty() && MayLieOverResidual(op, after);
  const kernels::Epilogue stages = own.Before(after.epilogue());
  auto planned = kernels::ConvolutionForward::Plan(shape, stages, after.adds_to_output);
  if (absl::IsUnimplemented(planned.status()) && after.adds_to_output) {
    after.adds_to_output = false;
    planned = kernels::ConvolutionForward::Plan(shape, stages);
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::ConvolutionForward> convolution,
                   std::move(planned));
  ASSIGN_OR_RETURN(const PlannedEpilogue epilogue, AbsorbOpsAfter(op, output, own, after));
  if (name.empty()) name = op.type();
  const Buffer packed = AddPacking<float>(op, convolution, filter);
  op.AddStep({epilogue.WithOperands({x, packed}),
              {epilogue.out},
              [=](const StepContext& run) {
                epilogue.BeginOutput(run);
                convolution->Run(run.Floats(x), run.Of<uint8_t>(packed), epilogue.OperandsOf(run),
                                 run.Floats(epilogue.out));
                return absl::OkStatus();
              },
              convolution->implementation(),
              OperationsOf(shape),
              absl::StrCat(name, epilogue.names)});
  AddFunction(op, output, own, epilogue.out);
  return absl::OkStatus();
}

// Adds the step that computes dx; T: float or Bfloat16.
template <typename T>
absl::Status AddBackwardImages(OpPlanner& op, const kernels::ConvolutionShape& shape, Buffer dy,
                               Buffer filter, Buffer dx, std::string name = "") {
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::ConvolutionBackwardImages<T>> backward,
                   kernels::ConvolutionBackwardImages<T>::Plan(shape));
  const Buffer packed = AddPacking<float>(op, backward, filter);
  op.AddStep({{dy, packed},
              {dx},
              [=](const StepContext& run) {
                backward->Run(run.Of<T>(dy), run.Of<uint8_t>(packed), run.Floats(dx));
                return absl::OkStatus();
              },
              backward->implementation(),
              OperationsOf(shape),
              std::move(name)});
  return absl::OkStatus();
}

// Adds the step that computes dfilter.
absl::Status AddBackwardFilters(OpPlanner& op, const kernels::ConvolutionShape& shape, Buffer x,
                                Buffer dy, Buffer dfilter) {
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::ConvolutionBackwardFilters<float>> backward,
                   kernels::ConvolutionBackwardFilters<float>::Plan(shape));
  const Buffer parts = op.Scratch("parts", VarType::UINT8, backward->work_bytes());
  op.AddStep({{x, dy},
              {dfilter, parts},
              [=](const StepContext& run) {
                backward->Run(run.Floats(x), run.Floats(dy), run.Of<uint8_t>(parts),
                              run.Floats(dfilter));
                return absl::OkStatus();
              },
              backward->implementation(),
              OperationsOf(shape),
              absl::StrCat(op.type(), " of filters")});
  return absl::OkStatus();
}

// The same of inputs that are multiples of a step, and of a gradient that has the factors of
// filters.
absl::Status AddBackwardFilters(OpPlanner& op, const kernels::ConvolutionShape& shape,
                                const Multiples& x, Buffer dy, std::optional<Buffer> factors,
                                Buffer dfilter) {
  using kernels::Bfloat16;
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::ConvolutionBackwardFilters<Bfloat16>> backward,
                   kernels::ConvolutionBackwardFilters<Bfloat16>::Plan(shape));
  std::vector<Buffer> reads = x.StepBuffers();
  reads.insert(reads.end(), {x.numbers, dy});
  if (factors) reads.push_back(*factors);
  const Buffer parts = op.Scratch("parts", VarType::UINT8, backward->work_bytes());
  op.AddStep({std::move(reads),
              {dfilter, parts},
              [=, taps = shape.taps()](const StepContext& run) {
                const absl::Span<float> gradient = run.Floats(dfilter);
                backward->Run(run.Of<Bfloat16>(x.numbers), run.Of<Bfloat16>(dy),
                              run.Of<uint8_t>(parts), gradient);
                const float step = x.StepIn(run);
                for (int64_t i = 0; i < shape.filters; ++i) {
                  const float missing = factors ? step / run.Floats(*factors)[i] : step;
                  for (int64_t tap = i * taps; tap < (i + 1) * taps; ++tap) {
                    gradient[tap] *= missing;
                  }
                }
                return absl::OkStatus();
              },
              backward->implementation(),
              OperationsOf(shape),
              absl::StrCat(op.type(), " of filters")});
  return absl::OkStatus();
}

absl::Status PlanConvolution(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::ConvolutionShape shape, ConvolutionShapeOf(op));
  const ImageForm form = FormOf(op);
  if (IsCodeDtype(op.InputType("Input").dtype)) {
    return PlanInt8Convolution(op, shape, form.layout());
  }
  const EpilogueInput output{"Output", OutputOf(shape, form), form.channel_axis(), form.layout()};
  ASSIGN_OR_RETURN(
      const bool is_planned,
      PlanOnIntegers(
          op, output, OperationsOf(shape),
          [&](const auto&... coding) { return kernels::PlanIntegerConvolution(shape, coding...); },
          [&](const kernels::Epilogue& epilogue) {
            return kernels::WideSums::Plan(shape, epilogue);
          }));
  if (is_planned) return absl::OkStatus();
  ASSIGN_OR_RETURN(const OwnStages own, ReadOwnStages(op, output, /*adds_bias=*/true));
  const OpsAfter after = FindOpsAfter(op, output, own);
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("Input", form.layout()));
  ASSIGN_OR_RETURN(const Buffer filter, ReadWeightFloats(op, "Filter"));
  return AddForward(op, shape, x, filter, output, own, after);
}

absl::Status PlanGradientOfFilters(OpPlanner& op, const kernels::ConvolutionShape& shape,
                                   Layout layout) {
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Output@GRAD", layout));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("Input", layout));
  const Buffer dfilter = op.WriteAs("Filter@GRAD", op.InputType("Filter"));
  return AddBackwardFilters(op, shape, x, dy, dfilter);
}

absl::Status PlanGradientOfImages(OpPlanner& op, const kernels::ConvolutionShape& shape,
                                  Layout layout) {
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Output@GRAD", layout));
  ASSIGN_OR_RETURN(const Buffer filter, op.ReadFloats("Filter"));
  const Buffer dx = op.WriteAs("Input@GRAD", op.InputType("Input"), layout);
  return AddBackwardImages<float>(op, shape, dy, filter, dx, absl::StrCat(op.type(), " of images"));
}

absl::Status PlanInBfloat16(OpPlanner& op, const kernels::ConvolutionShape& shape, Layout layout,
                            const kernels::GradientsInBfloat16& gradients) {
  ASSIGN_OR_RETURN(const FilterMultiples filter, ReadFilterNumbers(op, "Filter"));
  ASSIGN_OR_RETURN(const Buffer rounded, ReadRounded(op, "Output@GRAD", layout, filter.factors));
  if (gradients.filters) {
    ASSIGN_OR_RETURN(const Multiples x, ReadInBfloat16(op, "Input", layout));
    const Buffer dfilter = op.WriteAs("Filter@GRAD", op.InputType("Filter"));
    RETURN_IF_ERROR(AddBackwardFilters(op, shape, x, rounded, filter.factors, dfilter));
  }
  if (!gradients.images) return absl::OkStatus();
  const Buffer dx = op.WriteAs("Input@GRAD", op.InputType("Input"), layout);
  return AddBackwardImages<kernels::Bfloat16>(op, shape, rounded, filter.numbers, dx,
                                              absl::StrCat(op.type(), " of images"));
}

absl::Status PlanGradient(OpPlanner& op) {
  RETURN_IF_ERROR(CheckNothingFused(op.op()));
  ASSIGN_OR_RETURN(const kernels::ConvolutionShape shape, ConvolutionShapeOf(op));
  const ImageForm form = FormOf(op);
  RETURN_IF_ERROR(op.CheckDims("Output@GRAD", OutputOf(shape, form).dims));
  ASSIGN_OR_RETURN(const bool has_filters, PlanCodedGradientOfFilters(op, shape, form.layout()));
  ASSIGN_OR_RETURN(const bool has_images, PlanCodedGradientOfImages(op, shape, form.layout()));
  const bool wants_filters = op.Wants("Filter@GRAD") && !has_filters;
  const bool wants_images = op.Wants("Input@GRAD") && !has_images;
  if (!wants_filters && !wants_images) return absl::OkStatus();
  kernels::GradientsInBfloat16 rounded;
  if (op.backward() == BackwardPrecision::kBfloat16) rounded = kernels::GradientsForBfloat16(shape);
  if (wants_filters && !rounded.filters) {
    RETURN_IF_ERROR(PlanGradientOfFilters(op, shape, form.layout()));
  }
  if (wants_images && !rounded.images) {
    RETURN_IF_ERROR(PlanGradientOfImages(op, shape, form.layout()));
  }
  rounded.filters &= wants_filters;
  rounded.images &= wants_images;
  if (!rounded.filters && !rounded.images) return absl::OkStatus();
  return PlanInBfloat16(op, shape, form.layout(), rounded);
}

absl::Status PlanTransposed(OpPlanner& op) {
  RETURN_IF_ERROR(CheckNothingFused(op.op()));
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Output"));
  ASSIGN_OR_RETURN(const kernels::ConvolutionShape shape, TransposedShapeOf(op, type.dims));
  const ImageForm form = FormOf(op);
  const EpilogueInput images{"Output", type, form.channel_axis(), form.layout()};
  ASSIGN_OR_RETURN(const bool is_planned, PlanOnIntegers(
                                              op, images, OperationsOf(shape),
                                              [&](const auto&... coding) {
                                                return kernels::PlanIntegerTransposedConvolution(
                                                    shape, coding...);
                                              },
                                              // No sums of transposed convolutions are wide.
                                              /*plan_wide=*/nullptr));
  if (is_planned) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Buffer input, op.ReadFloats("Input", form.layout()));
  ASSIGN_OR_RETURN(const Buffer filter, ReadWeightFloats(op, "Filter"));
  const Buffer output = op.WriteAs("Output", type, form.layout());
  return AddBackwardImages<float>(op, shape, input, filter, output);
}

absl::Status PlanTransposedGradient(OpPlanner& op) {
  RETURN_IF_ERROR(CheckNothingFused(op.op()));
  ASSIGN_OR_RETURN(const kernels::ConvolutionShape shape,
                   TransposedShapeOf(op, op.InputDims("Output@GRAD")));
  const ImageForm form = FormOf(op);
  ASSIGN_OR_RETURN(const Buffer doutput, op.ReadFloats("Output@GRAD", form.layout()));
  if (op.Wants("Filter@GRAD")) {
    ASSIGN_OR_RETURN(const Buffer input, op.ReadFloats("Input", form.layout()));
    const Buffer dfilter = op.WriteAs("Filter@GRAD", op.InputType("Filter"));
    RETURN_IF_ERROR(AddBackwardFilters(op, shape, doutput, input, dfilter));
  }
  if (op.Wants("Input@GRAD")) {
    ASSIGN_OR_RETURN(const Buffer filter, op.ReadFloats("Filter"));
    const EpilogueInput dinput{"Input@GRAD", op.InputType("Input"), form.channel_axis(),
                               form.layout()};
    RETURN_IF_ERROR(AddForward(op, shape, doutput, filter, dinput, {}, {},
                               absl::StrCat(op.type(), " of images")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<kernels::ConvolutionShape> ConvolutionShapeOf(const OpPlanner& op) {
  const OpAttributes& attributes = op.attributes();
  const Dims& input = op.InputDims("Input");
  const Dims& filter = op.InputDims("Filter");
  const bool are_images = input.size() == 4 && filter.size() == 4;
  const Dims image = are_images ? FormOf(op).ToNchw(input) : input;
  kernels::ConvolutionShape shape;
  shape.groups = attributes.Int("groups");
  const bool fits = are_images && shape.groups >= 1 && filter[1] * shape.groups == image[1] &&
                    filter[0] % shape.groups == 0;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(input), " and Filter ",
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

absl::StatusOr<kernels::ConvolutionShape> TransposedShapeOf(const OpPlanner& op,
                                                            const Dims& images) {
  const OpAttributes& attributes = op.attributes();
  const ImageForm form = FormOf(op);
  const Dims& input = op.InputDims("Input");
  const Dims& filter = op.InputDims("Filter");
  kernels::ConvolutionShape shape;
  shape.groups = attributes.Int("groups");
  const WindowAttrs window{attributes.Ints("strides"), attributes.Ints("paddings"),
                           attributes.Ints("dilations"), attributes.String("padding_algorithm")};
  const bool are_images = input.size() == 4 && filter.size() == 4 && images.size() == 4;
  if (are_images) {
    const Dims made = form.ToNchw(images);
    const Dims read = form.ToNchw(input);
    shape.batch = made[0];
    shape.channels = made[1];
    shape.height = made[2];
    shape.width = made[3];
    shape.filters = filter[0];
    ASSIGN_OR_RETURN(shape.window,
                     MakeWindow(window, DimsView(filter).subspan(2), DimsView(read).subspan(2)));
    RETURN_IF_ERROR(kernels::CompleteShape(&shape));
  }
  if (!are_images || OutputOf(shape, form).dims != input ||
      filter[1] * shape.groups != shape.channels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Input is ", DimsText(input), ", Filter ", DimsText(filter), " in ", shape.groups,
        " groups and the output ", DimsText(images), "; want sizes that fit"));
  }
  return shape;
}

OpPlans ConvolutionPlans() {
  OpPlans plans;
  for (const char* prefix : {"", "depthwise_"}) {
    plans.push_back({absl::StrCat(prefix, "conv2d"), PlanConvolution});
    plans.push_back({absl::StrCat(prefix, "conv2d_grad"), PlanGradient});
    plans.push_back({absl::StrCat(prefix, "conv2d_transpose"), PlanTransposed});
    plans.push_back({absl::StrCat(prefix, "conv2d_transpose_grad"), PlanTransposedGradient});
  }
  return plans;
}

}  // namespace fixpoint::executor
