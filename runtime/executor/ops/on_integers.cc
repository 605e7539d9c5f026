#include "runtime/executor/ops/on_integers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/bias_codes.h"
#include "ops/code_dtype.h"
#include "ops/code_range.h"
#include "ops/codes/coded_product.h"
#include "ops/op_traits.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/executor/ops/planned_facts.h"
#include "runtime/executor/ops/quantized_bias.h"
#include "runtime/executor/ops/row_codes.h"
#include "runtime/executor/ops/signed_weights.h"

namespace fixpoint::executor {
namespace {

// The operands of a product that is computed on integers.
struct IntegerOperands {
  Codes inputs;
  Codes weights;
  std::optional<Buffer> weight_zero_points;  // INT32, of the output channels
  CodedProduct product;

  SumsOfCodes sums() const { return {inputs, weights, product}; }
};

// Sums of their products.
struct OperandSums {
  IntegerOperands operands;
  int64_t channels = 0;
  int64_t operations = 0;
  float factor = 1;
  // In steps of the sums, which are then their scales.
  std::optional<BiasCodes> bias = std::nullopt;
  // As floats. A run adds it to the sums in int32 (ops/bias_codes.h) or, where that does not hold
  // it, in float.
  std::optional<Buffer> bias_numbers = std::nullopt;

  kernels::SumCoding coding() const {
    kernels::SumCoding coding = operands.inputs.coding();
    if (operands.product.has_weight_zero_points()) coding = coding.WithWeightZeroPoints();
    return bias || bias_numbers ? coding.WithBias() : coding;
  }
};

// Codes of a byte that are the elements of an input: with a step of 1.
absl::StatusOr<Codes> ReadNumbersOfByte(OpPlanner& op, absl::string_view slot,
                                        kernels::CodeType type, Layout layout) {
  PlanBuilder& builder = op.builder();
  Codes codes;
  codes.type = type;
  codes.largest_code = 1;
  codes.layout = layout;
  if (IsCodeDtype(op.InputType(slot).dtype)) {
    ASSIGN_OR_RETURN(codes.codes, op.Read(slot, codes.dtype(), layout));
  } else {
    ASSIGN_OR_RETURN(const std::optional<Codes> held,
                     builder.ReadCodes(op.InputValue(slot), layout));
    codes.codes = held->codes;
  }
  codes.ranges = op.Scratch("step", VarType::FP32, 1);
  op.AddStep({{},
              {codes.ranges},
              [step = codes.ranges](const StepContext& run) {
                run.Floats(step)[0] = 1;
                return absl::OkStatus();
              },
              "",
              0,
              "set step"});
  return codes;
}

// The codes of an operand, whether its elements are codes or what they stand for.
absl::StatusOr<Codes> ReadCodesOf(OpPlanner& op, absl::string_view slot, Layout layout) {
  if (const std::optional<kernels::CodeType> numbers = NumbersOfByte(op, slot)) {
    return ReadNumbersOfByte(op, slot, *numbers, layout);
  }
  ASSIGN_OR_RETURN(const std::optional<Codes> codes,
                   op.builder().ReadCodes(op.InputValue(slot), layout));
  return *codes;
}

absl::StatusOr<IntegerOperands> ReadIntegerOperands(OpPlanner& op, const CodedProduct& product,
                                                    Layout input_layout) {
  const ProductTrait& trait = *TraitsOf(op.op()).product;
  IntegerOperands read;
  read.product = product;
  ASSIGN_OR_RETURN(read.inputs, ReadCodesOf(op, trait.activation, input_layout));
  if (const RowCodes* const rows = FindRowCodes(op, trait.weight); rows != nullptr) {
    read.weights.codes = rows->codes;
    read.weights.ranges = rows->scales;
    read.weights.largest_code = 1;
    read.weights.channel_axis = rows->axis;
    read.weight_zero_points = rows->zero_points;
    return read;
  }
  ASSIGN_OR_RETURN(read.weights, ReadCodesOf(op, trait.weight, Layout::kRowMajor));
  return read;
}

// The scale of each channel, in a run.
void FillScales(const OperandSums& sums, const StepContext& run, absl::Span<float> scales) {
  const auto& [inputs, weights, zero_points, product] = sums.operands;
  const float input_step = inputs.StepIn(run);
  const absl::Span<const float> ranges = run.Floats(weights.ranges);
  for (size_t c = 0; c < scales.size(); ++c) {
    // In a transposed convolution, each range serves a channel of every group.
    const float range = ranges[c % ranges.size()];
    scales[c] = input_step * StepOf(range, weights.largest_code) * sums.factor;
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

// The codes of weights whose channels of a range of 0 stand for 0, as their floats do: sums with a
// bias have other steps there (BiasStep). `entries` are adjacent codes of one channel.
std::vector<int8_t> WithoutChannelsOfZero(absl::Span<const int8_t> codes, int64_t entries,
                                          absl::Span<const float> ranges,
                                          absl::Span<const int32_t> zero_points) {
  std::vector<int8_t> counted(codes.begin(), codes.end());
  for (size_t i = 0; i < counted.size(); ++i) {
    const size_t c = i / entries % ranges.size();
    if (ranges[c] != 0) continue;
    counted[i] = zero_points.empty() ? int8_t{0} : static_cast<int8_t>(zero_points[c]);
  }
  return counted;
}

// Adds the step that packs weights for sums with a bias.
Buffer AddPackingBesideBias(OpPlanner& op, const OperandSums& sums,
                            const std::shared_ptr<kernels::IntegerSums>& kernel,
                            const SignedWeights& weights) {
  const Codes& held = sums.operands.weights;
  int64_t entries = weights.codes.size;
  if (held.channel_axis) {
    const Dims& dims = op.InputDims(TraitsOf(op.op()).product->weight);
    entries = 1;
    for (size_t i = *held.channel_axis + 1; i < dims.size(); ++i) entries *= dims[i];
  }
  std::vector<Buffer> reads = {weights.codes, held.ranges};
  if (weights.zero_points) reads.push_back(*weights.zero_points);
  return AddPacking<int8_t>(
      op, kernel, std::move(reads),
      [=, ranges = held.ranges](const StepContext& run, absl::Span<uint8_t> packed) {
        const absl::Span<const int8_t> codes = run.Of<int8_t>(weights.codes);
        const absl::Span<const float> of_channels = run.Floats(ranges);
        if (std::find(of_channels.begin(), of_channels.end(), 0) == of_channels.end()) {
          kernel->Pack(codes, packed);
          return;
        }
        absl::Span<const int32_t> zero_points;
        if (weights.zero_points) zero_points = run.Of<int32_t>(*weights.zero_points);
        kernel->Pack(WithoutChannelsOfZero(codes, entries, of_channels, zero_points), packed);
      });
}

std::string NameOf(const OpPlanner& op, const OperandSums& sums, const std::string& after) {
  return absl::StrCat(op.type(), " on integers", sums.bias ? " with bias" : "",
                      sums.operands.weight_zero_points ? ", row-wise" : "", after);
}

// Adds the step that computes the sums and then the epilogue.
void AddOperandSums(OpPlanner& op, const OperandSums& sums,
                    std::shared_ptr<kernels::IntegerSums> kernel, PlannedEpilogue epilogue) {
  const Codes& inputs = sums.operands.inputs;
  const SignedWeights weights = WeightsOf(op, sums);
  const Buffer packed = sums.bias ? AddPackingBesideBias(op, sums, kernel, weights)
                                  : AddPacking<int8_t>(op, kernel, weights.codes);
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
  const double beside_floats = kernel->beside_floats();
  const std::string name = NameOf(op, sums, epilogue.names);
  StepKernel step{epilogue.WithOperands(std::move(reads)),
                  std::move(writes),
                  [=, kernel = std::move(kernel)](const StepContext& run) {
                    const Codes& inputs = sums.operands.inputs;
                    if (!added.are_scales_filled) FillScales(sums, run, run.Floats(added.scales));
                    const auto stages = epilogue.OperandsOf(run);
                    kernels::SumOperands operands = {
                        run.Of<uint8_t>(inputs.codes), run.Of<uint8_t>(packed),
                        run.Floats(added.scales), static_cast<int32_t>(inputs.ZeroPointIn(run)),
                        stages};
                    if (added.bias) operands.bias = run.Of<int32_t>(*added.bias);
                    if (weights.zero_points) {
                      operands.weight_zero_points = run.Of<int32_t>(*weights.zero_points);
                      RETURN_IF_ERROR(CheckWeightZeroPoints(operands.weight_zero_points));
                    }
                    kernel->Run(operands, run.Floats(epilogue.out));
                    return absl::OkStatus();
                  },
                  implementation,
                  sums.operations,
                  name};
  step.beside_floats = beside_floats;
  step.is_repeatable = true;
  op.AddStep(std::move(step));
}

// What the op adds to its sums itself; whether that is a stage of its own instead.
absl::StatusOr<bool> ReadOwnBias(OpPlanner& op, OperandSums& sums) {
  const IntegerOperands& operands = sums.operands;
  const Argument* const bias = operands.product.own.bias;
  if (bias == nullptr) return false;
  const SumsOfCodes of_codes = operands.sums();
  const absl::string_view slot = OpPlanner::SlotOf(*bias);
  switch (operands.product.KindOfBias(PlannedFacts(op, &of_codes).BiasFormOf(*bias))) {
    case BiasKind::kToSums:
      sums.bias = *FindBiasCodes(op.builder(), op.InputValue(slot));
      return false;
    case BiasKind::kRoundedToSums: {
      RETURN_IF_ERROR(op.CheckSize(slot, sums.channels));
      ASSIGN_OR_RETURN(sums.bias_numbers, op.ReadFloats(slot));
      return false;
    }
    default:
      return true;
  }
}

}  // namespace

absl::Status CheckWeightZeroPoints(absl::Span<const int32_t> zero_points) {
  const CodeRange codes = CodesOfByte(/*is_unsigned=*/false);
  for (const int32_t zero_point : zero_points) {
    if (IsCode(zero_point, codes)) continue;
    return absl::InvalidArgumentError(absl::StrCat("a zero point is ", zero_point, "; want codes, ",
                                                   codes.smallest, " to ", codes.largest));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> PlanOnIntegers(OpPlanner& op, const EpilogueInput& output, int64_t operations,
                                    const PlanSums& plan, const PlanWide& plan_wide) {
  const ProductOrReason decision = DecideProduct(
      op.op(), op.attributes(), [&op](const Argument& operand) { return OperandOf(op, operand); });
  const auto* const product = std::get_if<CodedProduct>(&decision);
  if (product == nullptr) return false;
  if (product->is_wide()) {
    RETURN_IF_ERROR(PlanOnWideCodes(op, *product, output, operations, plan_wide));
    return true;
  }
  const std::string& factor = TraitsOf(op.op()).product->factor;
  OperandSums sums;
  ASSIGN_OR_RETURN(sums.operands, ReadIntegerOperands(op, *product, output.layout));
  sums.channels = output.type.dims[output.channel_axis];
  sums.operations = operations;
  if (!factor.empty()) sums.factor = op.Number(factor);
  ASSIGN_OR_RETURN(const bool adds_bias, ReadOwnBias(op, sums));
  ASSIGN_OR_RETURN(const OwnStages own, ReadOwnStages(op, output, adds_bias));
  const OpsAfter after = FindOpsAfterSums(op, output, own, sums.operands.sums());
  if (after.bias) sums.bias = after.bias;
  kernels::Epilogue stages = own.Before(after.epilogue());
  // What is left of the bias where int32 does not hold it.
  if (sums.bias_numbers) {
    stages.insert(stages.begin(), {kernels::EpilogueStage::Kind::kAddChannel});
  }
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::IntegerSums> kernel, plan(sums.coding(), stages));
  ASSIGN_OR_RETURN(const PlannedEpilogue epilogue, AbsorbOpsAfter(op, output, own, after));
  AddOperandSums(op, sums, std::move(kernel), epilogue);
  AddFunction(op, output, own, epilogue.out);
  return true;
}

}  // namespace fixpoint::executor
