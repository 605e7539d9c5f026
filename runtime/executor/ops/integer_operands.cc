#include "runtime/executor/ops/integer_operands.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/bias_codes.h"
#include "ops/code_range.h"
#include "ops/op_traits.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/executor/ops/row_codes.h"
#include "runtime/executor/ops/signed_weights.h"

namespace fixpoint::executor {
namespace {

// The codes of weights: with one zero point or none, or one for each column (row_codes.h).
struct WeightCodes {
  Codes codes;
  std::optional<Buffer> zero_points;
};

absl::StatusOr<std::optional<WeightCodes>> ReadWeights(OpPlanner& op, absl::string_view slot) {
  if (const RowCodes* const rows = FindRowCodes(op, slot); rows != nullptr) {
    WeightCodes weights;
    weights.codes.codes = rows->codes;
    weights.codes.ranges = rows->scales;
    weights.codes.largest_code = 1;
    weights.codes.channel_axis = rows->axis;
    weights.zero_points = rows->zero_points;
    return weights;
  }
  ASSIGN_OR_RETURN(const std::optional<Codes> codes,
                   op.builder().ReadCodes(op.InputValue(slot), Layout::kRowMajor));
  if (!codes) return std::nullopt;
  return WeightCodes{*codes, std::nullopt};
}

OperandCodes FormOf(const Codes& codes, bool has_channel_zero_points = false) {
  return {codes.type == kernels::CodeType::kUint8, codes.zero_point.has_value(), codes.channel_axis,
          has_channel_zero_points};
}

// The scale of each channel, in a run.
void FillScales(const OperandSums& sums, const StepContext& run, absl::Span<float> scales) {
  const auto& [inputs, weights, zero_points, product] = sums.operands;
  const float input_step = inputs.StepIn(run);
  const absl::Span<const float> ranges = run.Floats(weights.ranges);
  for (size_t c = 0; c < scales.size(); ++c) {
    // In a transposed convolution, each range serves a channel of every group.
    const float range = ranges[c % ranges.size()];
    scales[c] = input_step * StepOf(range, weights.largest_code) * sums.alpha;
  }
}

// What the sums are multiplied by, and what is added to them.
struct ScalesAndBias {
  Buffer scales;
  std::optional<Buffer> bias;
  // Where the steps write the scales that the step of the sums fills.
  bool are_scales_filled = false;
};

// Adds the step that converts a bias to codes. Where int32 does not hold it, the codes are 0 and
// `addends` are the bias; elsewhere the addends change nothing.
ScalesAndBias AddBiasCodes(OpPlanner& op, const OperandSums& sums, Buffer addends) {
  const Buffer numbers = *sums.bias_numbers;
  const Buffer scales = op.Scratch("scales", VarType::FP32, sums.channels);
  const Buffer bias = op.Scratch("bias", VarType::INT32, sums.channels);
  const int64_t largest_code = sums.operands.product.Sum().largest_bias();
  std::vector<Buffer> reads = sums.operands.inputs.buffers();
  reads.erase(reads.begin());  // the codes
  reads.insert(reads.end(), {sums.operands.weights.ranges, numbers});
  op.AddStep({reads,
              {scales, bias, addends},
              [=](const StepContext& run) {
                FillScales(sums, run, run.Floats(scales));
                const absl::Span<int32_t> codes = run.Of<int32_t>(bias);
                const absl::Span<float> added = run.Floats(addends);
                if (FillBiasCodes(run.Floats(numbers), run.Floats(scales), largest_code, codes)) {
                  std::fill(added.begin(), added.end(), -0.0f);
                } else {
                  std::fill(codes.begin(), codes.end(), 0);
                  std::copy_n(run.Floats(numbers).begin(), added.size(), added.begin());
                }
                return absl::OkStatus();
              },
              "",
              0,
              "codes of a bias"});
  return {scales, bias, /*are_scales_filled=*/true};
}

SignedWeights WeightsOf(OpPlanner& op, const OperandSums& sums) {
  const Codes& weights = sums.operands.weights;
  if (!weights.zero_point) return {weights.codes, sums.operands.weight_zero_points};
  return AddSignedWeights(
      op, weights.codes, weights.type, {*weights.zero_point},
      [weights](const StepContext& run) { return weights.ZeroPointIn(run); }, sums.channels);
}

std::string NameOf(const OpPlanner& op, const OperandSums& sums, const std::string& after) {
  return absl::StrCat(op.type(), " on integers", sums.bias ? " with bias" : "",
                      sums.operands.weight_zero_points ? ", row-wise" : "", after);
}

}  // namespace

absl::StatusOr<std::optional<IntegerOperands>> ReadIntegerOperands(OpPlanner& op,
                                                                   Layout input_layout) {
  const ProductTrait& trait = *TraitsOf(op.op()).product;
  const SumsOrReason sums = SumsOfProduct(op.op(), op.attributes(), op.InputDims(trait.activation),
                                          op.InputDims(trait.weight));
  PlanBuilder& builder = op.builder();
  const Value& input = op.InputValue(trait.activation);
  if (std::holds_alternative<IntegerReason>(sums) || builder.HoldsCodes(input) ||
      builder.HoldsCodes(op.InputValue(trait.weight))) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(const std::optional<Codes> inputs, builder.ReadCodes(input, input_layout));
  ASSIGN_OR_RETURN(const std::optional<WeightCodes> weights, ReadWeights(op, trait.weight));
  if (!inputs || !weights) return std::nullopt;
  const CodedProduct product = {std::get<ProductSums>(sums), FormOf(*inputs),
                                FormOf(weights->codes, weights->zero_points.has_value())};
  if (product.WhyNotOnIntegers()) return std::nullopt;
  return IntegerOperands{*inputs, weights->codes, weights->zero_points, product};
}

absl::Status CheckWeightZeroPoints(absl::Span<const int32_t> zero_points) {
  const CodeRange codes = CodesOfByte(/*is_unsigned=*/false);
  for (const int32_t zero_point : zero_points) {
    if (IsCode(zero_point, codes)) continue;
    return absl::InvalidArgumentError(absl::StrCat("a zero point is ", zero_point, "; want codes, ",
                                                   codes.smallest, " to ", codes.largest));
  }
  return absl::OkStatus();
}

kernels::SumCoding OperandSums::coding() const {
  kernels::SumCoding coding = operands.inputs.coding();
  if (operands.product.has_weight_zero_points()) coding = coding.WithWeightZeroPoints();
  return bias || bias_numbers ? coding.WithBias() : coding;
}

void AddOperandSums(OpPlanner& op, const OperandSums& sums,
                    std::shared_ptr<kernels::IntegerSums> kernel, PlannedEpilogue epilogue) {
  const Codes& inputs = sums.operands.inputs;
  const SignedWeights weights = WeightsOf(op, sums);
  const Buffer packed = AddPacking<int8_t>(op, kernel, weights.codes);
  ScalesAndBias added;
  if (sums.bias) {
    added = {sums.bias->steps, sums.bias->codes, /*are_scales_filled=*/true};
  } else if (sums.bias_numbers) {
    const Buffer addends = op.Scratch("addends", VarType::FP32, sums.channels);
    epilogue.operands.insert(epilogue.operands.begin(), addends);
    added = AddBiasCodes(op, sums, addends);
  } else {
    added.scales = op.Scratch("scales", VarType::FP32, sums.channels);
  }
  std::vector<Buffer> reads = inputs.buffers();
  reads.push_back(packed);
  std::vector<Buffer> writes = {epilogue.out};
  if (added.are_scales_filled) {
    reads.push_back(added.scales);
  } else {
    reads.push_back(sums.operands.weights.ranges);
    writes.insert(writes.begin(), added.scales);
  }
  if (added.bias) reads.push_back(*added.bias);
  if (weights.zero_points) reads.push_back(*weights.zero_points);
  const std::string implementation = kernel->implementation();
  const std::string name = NameOf(op, sums, epilogue.names);
  op.AddStep({epilogue.WithOperands(std::move(reads)), std::move(writes),
              [=, kernel = std::move(kernel)](const StepContext& run) {
                const Codes& inputs = sums.operands.inputs;
                if (!added.are_scales_filled) FillScales(sums, run, run.Floats(added.scales));
                const auto stages = epilogue.OperandsOf(run);
                kernels::SumOperands operands = {run.Of<uint8_t>(inputs.codes),
                                                 run.Of<uint8_t>(packed), run.Floats(added.scales),
                                                 static_cast<int32_t>(inputs.ZeroPointIn(run)),
                                                 stages};
                if (added.bias) operands.bias = run.Of<int32_t>(*added.bias);
                if (weights.zero_points) {
                  operands.weight_zero_points = run.Of<int32_t>(*weights.zero_points);
                  RETURN_IF_ERROR(CheckWeightZeroPoints(operands.weight_zero_points));
                }
                kernel->Run(operands, run.Floats(epilogue.out));
                return absl::OkStatus();
              },
              implementation, sums.operations, name});
}

}  // namespace fixpoint::executor
