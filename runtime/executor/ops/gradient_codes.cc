#include "runtime/executor/ops/gradient_codes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/codes/coded_gradients.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/executor/ops/product.h"
#include "runtime/kernels/coded_filter_gradient.h"
#include "runtime/kernels/integer_product.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/integer_transposed_convolution.h"

namespace fixpoint::executor {
namespace {

OperandCodes AsOperand(const Codes& codes) {
  OperandCodes operand;
  operand.is_unsigned = IsUnsigned(codes.type);
  operand.has_zero_point = codes.zero_point.has_value();
  operand.channel_axis = codes.channel_axis;
  return operand;
}

// The type of the left factor's codes where both are codes of which sums of so many products are
// computed on integers.
std::optional<kernels::CodeType> TypeOfLeft(const OpPlanner& op, const GradientFactors& factors,
                                            int64_t products) {
  const Codes* const left = op.builder().FindCodes(op.InputValue(factors.left));
  const Codes* const right = op.builder().FindCodes(op.InputValue(factors.right));
  if (left == nullptr || right == nullptr) return std::nullopt;
  if (WhyNotOnIntegers({AsOperand(*left), AsOperand(*right), products})) return std::nullopt;
  return left->type;
}

// What a kernel of sums is run on: codes in a layout, and the gradient that it computes.
struct CodedGradient {
  GradientFactors factors;
  Layout layout_of_left = Layout::kRowMajor;
  int64_t channels = 0;
  float factor = 1;
  Buffer out;
  int64_t operations = 0;
  std::string name;
};

absl::Status AddSums(OpPlanner& op, const CodedGradient& gradient,
                     const std::shared_ptr<kernels::IntegerSums>& kernel) {
  PlanBuilder& builder = op.builder();
  ASSIGN_OR_RETURN(
      const std::optional<Codes> read_left,
      builder.ReadCodes(op.InputValue(gradient.factors.left), gradient.layout_of_left));
  ASSIGN_OR_RETURN(const std::optional<Codes> read_right,
                   builder.ReadCodes(op.InputValue(gradient.factors.right), Layout::kRowMajor));
  const Codes left = *read_left;
  const Codes right = *read_right;
  const Buffer packed = AddPacking<int8_t>(op, kernel, right.codes);
  const Buffer scales = op.Scratch("scales", VarType::FP32, gradient.channels);
  StepKernel step{
      {left.codes, left.ranges, packed, right.ranges},
      {scales, gradient.out},
      [=, factor = gradient.factor, out = gradient.out](const StepContext& run) {
        const absl::Span<float> steps = run.Floats(scales);
        std::fill(steps.begin(), steps.end(), left.StepIn(run) * right.StepIn(run) * factor);
        kernel->Run({run.Of<uint8_t>(left.codes), run.Of<uint8_t>(packed), steps}, run.Floats(out));
        return absl::OkStatus();
      },
      kernel->implementation(),
      gradient.operations,
      absl::StrCat(gradient.name, " on integers")};
  step.beside_floats = kernel->beside_floats();
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> PlanCodedGradient(OpPlanner& op, absl::string_view output,
                                       const GradientFactors& factors,
                                       const kernels::ProductShape& shape, float factor) {
  if (!op.Wants(output)) return false;
  const std::optional<kernels::CodeType> type = TypeOfLeft(op, factors, shape.inner);
  if (!type) return false;
  absl::StatusOr<std::shared_ptr<kernels::IntegerSums>> kernel =
      kernels::PlanIntegerProduct(shape, *type);
  if (absl::IsUnimplemented(kernel.status())) return false;
  RETURN_IF_ERROR(kernel.status());
  const absl::string_view operand = output.substr(0, output.find('@'));
  CodedGradient gradient;
  gradient.factors = factors;
  gradient.channels = shape.columns;
  gradient.factor = factor;
  gradient.out = op.WriteAs(output, op.InputType(operand));
  gradient.operations = OperationsOf(shape);
  gradient.name = absl::StrCat(op.type(), " of ", operand);
  RETURN_IF_ERROR(AddSums(op, gradient, *kernel));
  return true;
}

absl::StatusOr<bool> PlanCodedGradientOfImages(OpPlanner& op,
                                               const kernels::ConvolutionShape& shape,
                                               Layout layout) {
  if (!op.Wants("Input@GRAD")) return false;
  const GradientFactors factors = {"Output@GRAD", "Filter"};
  const int64_t taps = shape.window[0].kernel * shape.window[1].kernel;
  const std::optional<kernels::CodeType> type =
      TypeOfLeft(op, factors, shape.filters / shape.groups * taps);
  if (!type) return false;
  absl::StatusOr<std::shared_ptr<kernels::IntegerSums>> kernel =
      kernels::PlanIntegerTransposedConvolution(shape, *type);
  if (absl::IsUnimplemented(kernel.status())) return false;
  RETURN_IF_ERROR(kernel.status());
  CodedGradient gradient;
  gradient.factors = factors;
  gradient.layout_of_left = layout;
  gradient.channels = shape.channels;
  gradient.out = op.WriteAs("Input@GRAD", op.InputType("Input"), layout);
  gradient.operations = 2 * shape.output_size() * shape.taps();
  gradient.name = absl::StrCat(op.type(), " of images");
  RETURN_IF_ERROR(AddSums(op, gradient, *kernel));
  return true;
}

absl::StatusOr<bool> PlanCodedGradientOfFilters(OpPlanner& op,
                                                const kernels::ConvolutionShape& shape,
                                                Layout layout) {
  if (!op.Wants("Filter@GRAD")) return false;
  // Sums of any length are split by the kernel.
  const std::optional<kernels::CodeType> type =
      TypeOfLeft(op, {"Input", "Output@GRAD"}, /*products=*/0);
  if (!type) return false;
  absl::StatusOr<std::shared_ptr<kernels::CodedFilterGradient>> kernel =
      kernels::CodedFilterGradient::Plan(shape, *type);
  if (absl::IsUnimplemented(kernel.status())) return false;
  RETURN_IF_ERROR(kernel.status());
  ASSIGN_OR_RETURN(const std::optional<Codes> images,
                   op.builder().ReadCodes(op.InputValue("Input"), layout));
  ASSIGN_OR_RETURN(const std::optional<Codes> gradient,
                   op.builder().ReadCodes(op.InputValue("Output@GRAD"), layout));
  const Buffer out = op.WriteAs("Filter@GRAD", op.InputType("Filter"));
  op.AddStep(
      {{images->codes, images->ranges, gradient->codes, gradient->ranges},
       {out},
       [=, images = *images, gradient = *gradient, kernel = *kernel](const StepContext& run) {
         kernel->Run(run.Of<uint8_t>(images.codes), run.Of<int8_t>(gradient.codes),
                     images.StepIn(run) * gradient.StepIn(run), run.Floats(out));
         return absl::OkStatus();
       },
       (*kernel)->implementation(),
       2 * shape.output_size() * shape.taps(),
       absl::StrCat(op.type(), " of filters on integers")});
  return true;
}

}  // namespace fixpoint::executor
