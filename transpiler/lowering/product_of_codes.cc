#include "transpiler/lowering/product_of_codes.h"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/op_builder.h"
#include "proto/status_macros.h"

namespace fixpoint {
namespace {

// Whether every sum of products fits in 32 bits, as the executor tells it.
bool SumsFit(const ParameterCodes& codes, int64_t channels, bool is_unsigned) {
  const int64_t products = channels > 0 ? codes.tensor->size() / channels : 0;
  return products <= std::numeric_limits<int32_t>::max() / ((is_unsigned ? 255 : 128) * 128);
}

}  // namespace

absl::StatusOr<LoweringReason> LowerProductOfCodes(const Op& op, const ProductOfCodes& product,
                                                   Lowering& lowering) {
  const Argument* const input = op.Input(product.activation_slot);
  const Argument* const parameter = op.Input(product.parameter_slot);
  if (input == nullptr || parameter == nullptr || op.outputs().size() != 1) {
    return LoweringReason::kAttributes;
  }
  const std::optional<ActivationCodes> activation = lowering.FindCodes(*input);
  if (!activation) return LoweringReason::kNotQuantized;
  LoweringReason reason;
  ASSIGN_OR_RETURN(const std::optional<ParameterCodes> weights,
                   lowering.FindParameterCodes(*parameter, &reason));
  if (!weights) return reason;
  if (weights->channel_axis >= 0 && weights->channel_axis != product.channel_axis) {
    return LoweringReason::kGranularity;
  }
  if (product.channel_axis >= static_cast<int>(weights->tensor->dims().size())) {
    return LoweringReason::kAttributes;
  }
  const int64_t entries = weights->tensor->dims()[product.channel_axis];
  if (!SumsFit(*weights, entries * product.channel_groups, activation->is_unsigned)) {
    return LoweringReason::kSumsTooLarge;
  }

  std::vector<float> scales;
  for (int64_t group = 0; group < product.channel_groups; ++group) {
    for (int64_t c = 0; c < entries; ++c) scales.push_back(activation->step() * weights->step(c));
  }
  ASSIGN_OR_RETURN(const std::string scales_name,
                   lowering.AddParameter(absl::StrCat(op.outputs().front()->name(), ".scales"),
                                         std::move(scales)));
  OpBuilder integers(product.type);
  integers.Input(product.activation_slot, activation->codes->name())
      .Input(product.parameter_slot, weights->codes->name())
      .Input("Scales", scales_name)
      .Output(op.outputs().front()->slot_name(), op.outputs().front()->name());
  for (const char* name : product.attributes) {
    if (const OpDesc::Attr* attr = op.FindAttr(name); attr != nullptr) integers.Attr(*attr);
  }
  lowering.Replace(op, integers.Build());
  return LoweringReason::kOnIntegers;
}

}  // namespace fixpoint
