#include "runtime/executor/ops/row_wise_product.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/bias_codes.h"
#include "proto/program.h"
#include "proto/status_macros.h"
#include "runtime/executor/ops/packed_weights.h"

namespace fixpoint::executor {

absl::StatusOr<std::optional<RowWiseOperands>> ReadRowWiseOperands(
    OpPlanner& op, absl::string_view input_slot, absl::string_view weight_slot,
    const kernels::ProductShape& shape) {
  const RowCodes* const weights = FindRowCodes(op, weight_slot);
  PlanBuilder& builder = op.builder();
  const Value& input = op.InputValue(input_slot);
  if (weights == nullptr || weights->axis != 1 || op.InputDims(weight_slot).size() != 2 ||
      op.InputDims(input_slot).size() < 2 || shape.batch != 1 || shape.transpose_x ||
      shape.transpose_y || builder.HoldsCodes(input)) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(const std::optional<Codes> inputs, builder.ReadCodes(input, Layout::kRowMajor));
  if (!inputs || inputs->channel_axis || inputs->zero_point ||
      !kernels::RowWiseSumsFit(shape.inner, inputs->type)) {
    return std::nullopt;
  }
  return RowWiseOperands{*inputs, *weights};
}

void AddRowWiseProduct(OpPlanner& op, const kernels::ProductShape& shape,
                       const RowWiseOperands& operands,
                       std::shared_ptr<kernels::RowWiseProduct> product, std::optional<Buffer> bias,
                       const PlannedEpilogue& epilogue) {
  const auto& [inputs, weights] = operands;
  const Buffer packed = AddPacking<int8_t>(op, product, weights.codes);
  const Buffer scales = op.Scratch("scales", VarType::FP32, shape.columns);
  // Not read where there is no bias.
  const Buffer bias_codes = op.Scratch("bias", VarType::INT32, shape.columns);
  const int64_t largest_sum = kernels::LargestRowWiseSum(shape.inner, inputs.type);
  std::vector<Buffer> reads = {inputs.codes, inputs.ranges, packed, weights.scales,
                               weights.zero_points};
  if (bias) reads.push_back(*bias);
  const std::string implementation = product->implementation();
  op.AddStep({epilogue.WithOperands(std::move(reads)),
              {scales, bias_codes, epilogue.out},
              [=, inputs = inputs, weights = weights,
               product = std::move(product)](const StepContext& run) {
                const float input_step = inputs.StepIn(run);
                const absl::Span<const float> steps = run.Floats(weights.scales);
                const absl::Span<float> scale = run.Floats(scales);
                for (size_t c = 0; c < scale.size(); ++c) scale[c] = input_step * steps[c];
                kernels::WeightColumns columns;
                columns.scales = scale;
                columns.zero_points = run.Of<int32_t>(weights.zero_points);
                if (bias) {
                  const absl::Span<int32_t> codes = run.Of<int32_t>(bias_codes);
                  if (FillBiasCodes(run.Floats(*bias), scale, largest_sum, codes)) {
                    columns.bias = codes;
                  } else {
                    columns.addends = run.Floats(*bias);
                  }
                }
                RETURN_IF_ERROR(kernels::CheckColumns(columns, largest_sum));
                product->Run(run.Of<uint8_t>(inputs.codes), run.Of<uint8_t>(packed), columns,
                             epilogue.OperandsOf(run), run.Floats(epilogue.out));
                return absl::OkStatus();
              },
              implementation,
              2 * shape.out_size() * shape.inner,
              absl::StrCat(op.op().type(), " on integers, row-wise", epilogue.names)});
}

}  // namespace fixpoint::executor
