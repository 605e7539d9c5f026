#include "transpiler/lower/rules/requantized_product.h"

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "ops/codes/declared_dims.h"
#include "ops/epilogue_attributes.h"
#include "ops/op_traits.h"
#include "ops/requantization.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// The numbers of a parameter; none where the input is not such a parameter.
absl::StatusOr<absl::Span<const float>> FindNumbers(const Argument* input, Lowering& lowering) {
  if (input == nullptr) return absl::Span<const float>();
  ASSIGN_OR_RETURN(const Tensor* tensor, lowering.FindParameter(*input));
  if (tensor == nullptr || tensor->dtype() != VarType::FP32) return absl::Span<const float>();
  return tensor->data<float>();
}

bool AddsUpOnly(const Op& product) {
  const absl::StatusOr<Epilogue> epilogue = EpilogueOf(product.desc());
  return TraitsOf(product).product && epilogue.ok() &&
         std::all_of(epilogue->begin(), epilogue->end(), [](const EpilogueStage& stage) {
           return stage.kind == EpilogueStage::Kind::kRelu;
         });
}

}  // namespace

absl::StatusOr<std::optional<std::vector<float>>> FindRequantizationFactors(const Op& product,
                                                                            const Op& requantize,
                                                                            Lowering& lowering) {
  const std::optional<RequantizationOp> read = ReadRequantization(requantize, lowering.era());
  if (!read || !AddsUpOnly(product)) return std::nullopt;
  ASSIGN_OR_RETURN(const auto scales, FindNumbers(product.Input("Scales"), lowering));
  ASSIGN_OR_RETURN(const auto of_input, FindNumbers(read->input_range, lowering));
  ASSIGN_OR_RETURN(const auto of_weights, FindNumbers(read->weight_ranges, lowering));
  ASSIGN_OR_RETURN(const auto of_output, FindNumbers(read->output_range, lowering));
  const Dims dims = DeclaredDims(*product.outputs().front());
  const int axis = TraitsOf(product).ChannelAxis(static_cast<int>(dims.size()));
  if (of_input.size() != 1 || of_output.size() != 1 || of_weights.empty() || scales.empty() ||
      dims.empty() || axis != read->channel_axis || dims[axis] <= 0) {
    return std::nullopt;
  }
  std::vector<float> factors;
  for (int64_t c = 0; c < dims[axis]; ++c) {
    const float step = read->StepOfSums(of_input[0], of_weights[c % of_weights.size()]);
    // Of sums by such a step the op makes none.
    if (!(step > 0) || step != scales[c % scales.size()]) return std::nullopt;
    factors.push_back(read->Factor(step, of_output[0]));
  }
  return factors;
}

}  // namespace fixpoint
