// A bias that is rounded to steps of the sums of products of codes that it is added to. Its codes
// are held as integers: a product that has the same steps adds them to its sums, and they are
// dequantized where something reads them as floats.

#include "runtime/executor/ops/quantized_bias.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/bias_codes.h"
#include "ops/channel_ranges.h"
#include "ops/code_ops.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

// What an op of a bias says; nothing if its result is not wanted.
std::optional<BiasCodeOp> ReadWanted(const OpPlanner& op) {
  const std::optional<BiasCodeOp> read = ReadBiasCodeOp(op.op(), op.era());
  return read && op.Wants(OpPlanner::SlotOf(*read->output)) ? read : std::nullopt;
}

// The ranges that an op reads, and the steps of its channels.
absl::StatusOr<BiasCodes> ReadSteps(OpPlanner& op, const BiasCodeOp& read) {
  const absl::string_view input = OpPlanner::SlotOf(*read.input);
  const absl::string_view of_input = OpPlanner::SlotOf(*read.input_range);
  const int64_t channels = op.InputType(input).size();
  RETURN_IF_ERROR(op.CheckSize(of_input, 1));
  BiasCodes bias;
  ASSIGN_OR_RETURN(bias.input_range, op.ReadFloats(of_input));
  if (read.weight_ranges != nullptr) {
    const absl::string_view of_weight = OpPlanner::SlotOf(*read.weight_ranges);
    RETURN_IF_ERROR(CheckWeightScale(op.InputDims(of_weight), op.InputDims(input), /*axis=*/0));
    ASSIGN_OR_RETURN(bias.weight_ranges, op.ReadFloats(of_weight));
  }
  bias.input_largest_code = read.input_largest_code;
  bias.weight_largest_code = read.weight_largest_code;
  bias.steps = op.Scratch("steps", VarType::FP32, channels);
  return bias;
}

void FillSteps(const BiasCodes& bias, const StepContext& run) {
  const float range = run.Floats(bias.input_range)[0];
  const absl::Span<float> steps = run.Floats(bias.steps);
  for (size_t c = 0; c < steps.size(); ++c) {
    float of_weight = 1;
    if (bias.weight_ranges) {
      const absl::Span<float> ranges = run.Floats(*bias.weight_ranges);
      of_weight = ranges[c % ranges.size()];
    }
    steps[c] = BiasStep(range, bias.input_largest_code, of_weight, bias.weight_largest_code);
  }
}

// What the steps are made of, beside what else a step reads.
std::vector<Buffer> WithRanges(std::vector<Buffer> reads, const BiasCodes& bias) {
  reads.push_back(bias.input_range);
  if (bias.weight_ranges) reads.push_back(*bias.weight_ranges);
  return reads;
}

void DeferNumbers(OpPlanner& op, const BiasCodeOp& read, const BiasCodes& bias) {
  const Value& out = op.OutputValue(OpPlanner::SlotOf(*read.output));
  const Dims& dims = op.InputDims(OpPlanner::SlotOf(*read.input));
  op.builder().Defer(out, {VarType::FP32, dims}, Layout::kRowMajor,
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
  const std::optional<BiasCodeOp> read = ReadWanted(op);
  if (!read) return absl::OkStatus();
  ASSIGN_OR_RETURN(BiasCodes bias, ReadSteps(op, *read));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats(OpPlanner::SlotOf(*read->input)));
  bias.codes = op.Scratch("codes", VarType::INT32, bias.steps.size);
  const int bits = read->bits;
  op.AddStep({WithRanges({x}, bias), {bias.steps, bias.codes}, [=](const StepContext& run) {
                FillSteps(bias, run);
                const absl::Span<float> numbers = run.Floats(x);
                const absl::Span<float> steps = run.Floats(bias.steps);
                const absl::Span<int32_t> codes = run.Of<int32_t>(bias.codes);
                for (size_t c = 0; c < codes.size(); ++c) {
                  codes[c] = BiasCode(numbers[c], steps[c], bits);
                }
                return absl::OkStatus();
              }});
  DeferNumbers(op, *read, bias);
  return absl::OkStatus();
}

absl::Status PlanDequantize(OpPlanner& op) {
  const std::optional<BiasCodeOp> read = ReadWanted(op);
  if (!read) return absl::OkStatus();
  ASSIGN_OR_RETURN(BiasCodes bias, ReadSteps(op, *read));
  ASSIGN_OR_RETURN(bias.codes, ReadCodesOfBias(op, OpPlanner::SlotOf(*read->input)));
  op.AddStep({WithRanges({bias.codes}, bias),
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
  DeferNumbers(op, *read, bias);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Buffer> ReadCodesOfBias(OpPlanner& op, absl::string_view slot) {
  const TensorType& type = op.InputType(slot);
  if (type.dtype != VarType::INT16) return op.Read(slot, VarType::INT32);
  ASSIGN_OR_RETURN(const Buffer narrow, op.Read(slot, VarType::INT16));
  const Buffer codes = op.Scratch("codes", VarType::INT32, type.size());
  op.AddStep({{narrow}, {codes}, [=](const StepContext& run) {
                const absl::Span<int16_t> read = run.Of<int16_t>(narrow);
                std::copy(read.begin(), read.end(), run.Of<int32_t>(codes).begin());
                return absl::OkStatus();
              }});
  return codes;
}

const BiasCodes* FindBiasCodes(const PlanBuilder& builder, const Value& value) {
  return builder.Attached<BiasCodes>(value);
}

OpPlans QuantizedBiasPlans() {
  return {{kQuantizeBias, PlanQuantize}, {kDequantizeBias, PlanDequantize}};
}

}  // namespace fixpoint::executor
