#include "transpiler/lower/rules/bias_codes.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/bias_codes.h"
#include "ops/code_ops.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// A parameter of one of the types, and of one dimension with elements; null where the input is
// none. Error (kInvalidArgument): it is another tensor.
absl::StatusOr<const Tensor*> FindOf(const Argument& input, const std::vector<VarType::Type>& types,
                                     Lowering& lowering) {
  ASSIGN_OR_RETURN(const Tensor* tensor, lowering.FindParameter(input));
  if (tensor == nullptr) return tensor;
  const bool is_of_type = std::find(types.begin(), types.end(), tensor->dtype()) != types.end();
  if (is_of_type && tensor->dims().size() == 1 && tensor->size() > 0) return tensor;
  return absl::InvalidArgumentError(
      absl::StrCat(DescribeInFile(input.op()), ": ", std::string(input.slot_name()), " \"",
                   std::string(input.name()), "\" is ", VarType::Type_Name(tensor->dtype()), " ",
                   DimsText(tensor->dims()), "; want ",
                   absl::StrJoin(types, " or ",
                                 [](std::string* out, VarType::Type type) {
                                   absl::StrAppend(out, VarType::Type_Name(type));
                                 }),
                   " of one dimension"));
}

}  // namespace

bool ParameterBiasCodes::IsOfSums(absl::Span<const float> scales) const {
  if (scales.size() != 1 && scales.size() != steps.size()) return false;
  for (size_t c = 0; c < steps.size(); ++c) {
    if (steps[c] != scales[scales.size() == 1 ? 0 : c]) return false;
  }
  return true;
}

absl::StatusOr<std::optional<ParameterBiasCodes>> FindParameterBiasCodes(const Argument& input,
                                                                         Lowering& lowering) {
  const Value* const value = input.value();
  const Op* const op = value != nullptr ? value->op() : nullptr;
  if (op == nullptr || op->type() != kDequantizeBias || !lowering.IsInForm(*op)) {
    return std::nullopt;
  }
  const std::optional<BiasCodeOp> read = ReadBiasCodeOp(*op, lowering.era());
  if (!read) return std::nullopt;
  ParameterBiasCodes found;
  found.codes = read->input;
  ASSIGN_OR_RETURN(const Tensor* codes,
                   FindOf(*found.codes, {VarType::INT32, VarType::INT16}, lowering));
  ASSIGN_OR_RETURN(const Tensor* input_range,
                   FindOf(*read->input_range, {VarType::FP32}, lowering));
  std::vector<float> ranges = {1};
  if (read->weight_ranges != nullptr) {
    ASSIGN_OR_RETURN(const Tensor* held, FindOf(*read->weight_ranges, {VarType::FP32}, lowering));
    if (held == nullptr) return std::nullopt;
    ranges.assign(held->data<float>().begin(), held->data<float>().end());
  }
  if (codes == nullptr || input_range == nullptr) return std::nullopt;
  RETURN_IF_ERROR(CheckRanges(*op, input_range->data<float>()));
  RETURN_IF_ERROR(CheckRanges(*op, ranges));
  const auto range_count = static_cast<int64_t>(ranges.size());
  if (input_range->size() != 1 || range_count == 0 || codes->size() % range_count != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        DescribeInFile(*op), ": X has ", codes->size(), " codes, and there are ",
        input_range->size(), " and ", range_count,
        " ranges; want one of the input, and of the weight one or one for each channel"));
  }
  const std::string said =
      absl::StrCat(DescribeInFile(*op), ": X \"", std::string(found.codes->name()), "\" holds");
  if (codes->dtype() == VarType::INT32) {
    for (const int32_t code : codes->data<int32_t>()) RETURN_IF_ERROR(CheckBiasCode(code, said));
  }
  for (int64_t c = 0; c < codes->size(); ++c) {
    found.steps.push_back(read->Step(input_range->data<float>()[0], ranges[c % range_count]));
  }
  return found;
}

}  // namespace fixpoint
