#include "transpiler/lower/rules/requantized_product.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "ops/codes/declared_dims.h"
#include "ops/epilogue_attributes.h"
#include "ops/op_traits.h"
#include "ops/quant_math.h"
#include "ops/requantization.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

bool AddsUpOnly(const Op& product) {
  const absl::StatusOr<Epilogue> epilogue = EpilogueOf(product.desc());
  return TraitsOf(product).product && epilogue.ok() &&
         std::all_of(epilogue->begin(), epilogue->end(), [](const EpilogueStage& stage) {
           return stage.kind == EpilogueStage::Kind::kRelu;
         });
}

}  // namespace

absl::StatusOr<bool> GivesRequantizedCodes(const Quantization& quantization, const Op& requantize,
                                           Lowering& lowering) {
  const std::optional<RequantizationOp> read = ReadRequantization(requantize, lowering.era());
  if (!read) return false;
  ASSIGN_OR_RETURN(const auto range, lowering.FindNumbers(read->output_range));
  if (range.size() != 1) return false;
  const float step = read->StepOfCodes(range[0]);
  const CodeType& type = quantization.type;
  for (int32_t code = quantization.smallest_code; code <= type.largest_code; ++code) {
    const auto above_zero = static_cast<float>(code - type.zero_point);
    if (RoundHalfToEven(above_zero * step * quantization.multiplier) != above_zero) return false;
  }
  return true;
}

absl::StatusOr<std::vector<float>> FindRequantizationFactors(const Op& product,
                                                             const Op& requantize,
                                                             Lowering& lowering) {
  const std::optional<RequantizationOp> read = ReadRequantization(requantize, lowering.era());
  if (!read || !AddsUpOnly(product)) return std::vector<float>();
  ASSIGN_OR_RETURN(const auto scales, lowering.FindNumbers(product.Input("Scales")));
  ASSIGN_OR_RETURN(const auto of_input, lowering.FindNumbers(read->input_range));
  ASSIGN_OR_RETURN(const auto of_weights, lowering.FindNumbers(read->weight_ranges));
  ASSIGN_OR_RETURN(const auto of_output, lowering.FindNumbers(read->output_range));
  const Dims dims = DeclaredDims(*product.outputs().front());
  const int axis = TraitsOf(product).ChannelAxis(static_cast<int>(dims.size()));
  if (of_input.size() != 1 || of_output.size() != 1 || of_weights.empty() || scales.empty() ||
      dims.empty() || axis != read->channel_axis || dims[axis] <= 0) {
    return std::vector<float>();
  }
  std::vector<float> factors;
  for (int64_t c = 0; c < dims[axis]; ++c) {
    const float step = read->StepOfSums(of_input[0], of_weights[c % of_weights.size()]);
    // Of sums by such a step the op makes none.
    if (!(step > 0) || step != scales[c % scales.size()]) return std::vector<float>();
    factors.push_back(read->Factor(step, of_output[0]));
  }
  return factors;
}

}  // namespace fixpoint
