// A bias that is rounded to steps of the sums of products of codes that it is added to. Its codes
// are held as integers: a product that has the same steps adds them to its sums, and they are
// dequantized where something reads them as floats.

#include "runtime/executor/ops/quantized_bias.h"

#include "absl/strings/str_cat.h"
#include "ops/bias_codes.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

// The inputs that both ops read besides X, and the steps of its channels.
absl::StatusOr<BiasCodes> ReadSteps(OpPlanner& op) {
  const int64_t channels = op.InputType("X").size();
  const int64_t ranges = op.InputType("WeightScale").size();
  RETURN_IF_ERROR(op.CheckSize("InputScale", 1));
  if (ranges < 1 || channels % ranges != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("WeightScale is ", DimsText(op.InputDims("WeightScale")), " and X ",
                     DimsText(op.InputDims("X")),
                     "; want one range, or one for each channel, or for each of a group"));
  }
  BiasCodes bias;
  ASSIGN_OR_RETURN(bias.input_range, op.ReadFloats("InputScale"));
  ASSIGN_OR_RETURN(bias.weight_ranges, op.ReadFloats("WeightScale"));
  bias.input_largest_code = static_cast<int32_t>(op.attributes().Int("input_largest_code"));
  bias.weight_largest_code = static_cast<int32_t>(op.attributes().Int("weight_largest_code"));
  bias.steps = op.Scratch("steps", VarType::FP32, channels);
  return bias;
}

void FillSteps(const BiasCodes& bias, const StepContext& run) {
  const float range = run.Floats(bias.input_range)[0];
  const absl::Span<float> ranges = run.Floats(bias.weight_ranges);
  const absl::Span<float> steps = run.Floats(bias.steps);
  for (size_t c = 0; c < steps.size(); ++c) {
    steps[c] = BiasStep(range, bias.input_largest_code, ranges[c % ranges.size()],
                        bias.weight_largest_code);
  }
}

void DeferNumbers(OpPlanner& op, const BiasCodes& bias) {
  const Value& out = op.OutputValue("Out");
  op.builder().Defer(out, {VarType::FP32, op.InputDims("X")}, Layout::kRowMajor,
                     [bias, &builder = op.builder()](Buffer numbers) {
                       builder.AddStep({"dequantize",
                                        nullptr,
                                        "",
                                        {bias.codes, bias.steps},
                                        {numbers},
                                        0,
                                        [=](const StepContext& run) {
                                          const absl::Span<int32_t> codes =
                                              run.Of<int32_t>(bias.codes);
                                          const absl::Span<float> steps = run.Floats(bias.steps);
                                          const absl::Span<float> out = run.Floats(numbers);
                                          for (size_t c = 0; c < out.size(); ++c) {
                                            out[c] = static_cast<float>(codes[c]) * steps[c];
                                          }
                                          return absl::OkStatus();
                                        }});
                     });
  op.builder().Attach(out, bias);
}

absl::Status PlanQuantize(OpPlanner& op) {
  if (!op.Wants("Out")) return absl::OkStatus();
  ASSIGN_OR_RETURN(BiasCodes bias, ReadSteps(op));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  bias.codes = op.Scratch("codes", VarType::INT32, bias.steps.size);
  op.AddStep({{x, bias.input_range, bias.weight_ranges},
              {bias.steps, bias.codes},
              [=](const StepContext& run) {
                FillSteps(bias, run);
                const absl::Span<float> numbers = run.Floats(x);
                const absl::Span<float> steps = run.Floats(bias.steps);
                const absl::Span<int32_t> codes = run.Of<int32_t>(bias.codes);
                for (size_t c = 0; c < codes.size(); ++c) codes[c] = BiasCode(numbers[c], steps[c]);
                return absl::OkStatus();
              }});
  DeferNumbers(op, bias);
  return absl::OkStatus();
}

absl::Status PlanDequantize(OpPlanner& op) {
  if (!op.Wants("Out")) return absl::OkStatus();
  ASSIGN_OR_RETURN(BiasCodes bias, ReadSteps(op));
  ASSIGN_OR_RETURN(bias.codes, op.Read("X", VarType::INT32));
  op.AddStep({{bias.codes, bias.input_range, bias.weight_ranges},
              {bias.steps},
              [=](const StepContext& run) {
                for (const int32_t code : run.Of<int32_t>(bias.codes)) {
                  RETURN_IF_ERROR(CheckBiasCode(code, "X holds"));
                }
                FillSteps(bias, run);
                return absl::OkStatus();
              },
              "",
              0,
              "steps of a bias"});
  DeferNumbers(op, bias);
  return absl::OkStatus();
}

}  // namespace

const BiasCodes* FindBiasCodes(const PlanBuilder& builder, const Value& value) {
  return builder.Attached<BiasCodes>(value);
}

OpPlans QuantizedBiasPlans() {
  return {{"fake_quantize_dequantize_bias", PlanQuantize},
          {"fake_dequantize_bias", PlanDequantize}};
}

}  // namespace fixpoint::executor
