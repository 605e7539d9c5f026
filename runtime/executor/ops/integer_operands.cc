#include "runtime/executor/ops/integer_operands.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/quant_math.h"
#include "proto/program.h"
#include "proto/status_macros.h"
#include "runtime/executor/ops/packed_weights.h"

namespace fixpoint::executor {
absl::StatusOr<std::optional<IntegerOperands>> ReadIntegerOperands(OpPlanner& op,
                                                                   absl::string_view input_slot,
                                                                   Layout input_layout,
                                                                   absl::string_view weight_slot,
                                                                   int channel_axis) {
  PlanBuilder& builder = op.builder();
  const Value& input = op.InputValue(input_slot);
  const Value& weight = op.InputValue(weight_slot);
  if (builder.HoldsCodes(input) || builder.HoldsCodes(weight)) return std::nullopt;
  ASSIGN_OR_RETURN(const std::optional<Codes> inputs, builder.ReadCodes(input, input_layout));
  ASSIGN_OR_RETURN(const std::optional<Codes> weights,
                   builder.ReadCodes(weight, Layout::kRowMajor));
  if (!inputs || !weights) return std::nullopt;
  if (inputs->channel_axis || weights->zero_point || weights->type != kernels::CodeType::kInt8) {
    return std::nullopt;
  }
  if (weights->channel_axis && weights->channel_axis != channel_axis) return std::nullopt;
  return IntegerOperands{*inputs, *weights};
}

void AddIntegerSums(OpPlanner& op, const IntegerOperands& operands,
                    std::shared_ptr<kernels::IntegerSums> sums, int64_t channels,
                    int64_t operations, const PlannedEpilogue& epilogue, float alpha) {
  const auto& [inputs, weights] = operands;
  const Buffer packed = AddPacking<int8_t>(op, sums, weights.codes);
  const Buffer scales = op.Scratch("scales", VarType::FP32, channels);
  const std::string implementation = sums->implementation();
  std::vector<Buffer> reads = inputs.buffers();
  reads.insert(reads.end(), {packed, weights.ranges});
  op.AddStep({epilogue.WithOperands(std::move(reads)),
              {scales, epilogue.out},
              [inputs = inputs, weights = weights, packed, scales, epilogue, alpha,
               sums = std::move(sums)](const StepContext& run) {
                const float input_step = inputs.StepIn(run);
                const absl::Span<const float> ranges = run.Floats(weights.ranges);
                const absl::Span<float> scale = run.Floats(scales);
                for (size_t c = 0; c < scale.size(); ++c) {
                  // Of a transposed convolution each range serves a channel of every group.
                  const float range = ranges[c % ranges.size()];
                  scale[c] = input_step * StepOf(range, weights.largest_code) * alpha;
                }
                sums->Run(run.Of<uint8_t>(inputs.codes),
                          static_cast<int32_t>(inputs.ZeroPointIn(run)), run.Of<uint8_t>(packed),
                          scale, epilogue.OperandsOf(run), run.Floats(epilogue.out));
                return absl::OkStatus();
              },
              implementation,
              operations,
              absl::StrCat(op.op().type(), " on integers", epilogue.names)});
}

void AddBiasedSums(OpPlanner& op, const IntegerOperands& operands, const BiasCodes& bias,
                   std::shared_ptr<kernels::BiasedSums> sums, int64_t operations,
                   const PlannedEpilogue& epilogue) {
  const auto& [inputs, weights] = operands;
  const Buffer packed = AddPacking<int8_t>(op, sums, weights.codes);
  const std::string implementation = sums->implementation();
  std::vector<Buffer> reads = inputs.buffers();
  reads.insert(reads.end(), {packed, bias.codes, bias.steps});
  op.AddStep(
      {epilogue.WithOperands(std::move(reads)),
       {epilogue.out},
       [inputs = inputs, bias, packed, epilogue, sums = std::move(sums)](const StepContext& run) {
         sums->Run(run.Of<uint8_t>(inputs.codes), static_cast<int32_t>(inputs.ZeroPointIn(run)),
                   run.Of<uint8_t>(packed), run.Of<int32_t>(bias.codes), run.Floats(bias.steps),
                   epilogue.OperandsOf(run), run.Floats(epilogue.out));
         return absl::OkStatus();
       },
       implementation,
       operations,
       absl::StrCat(op.op().type(), " on integers with bias", epilogue.names)});
}

}  // namespace fixpoint::executor
