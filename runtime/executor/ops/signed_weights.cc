#include "runtime/executor/ops/signed_weights.h"

#include <algorithm>
#include <utility>

#include "ops/code_range.h"

namespace fixpoint::executor {

SignedWeights AddSignedWeights(OpPlanner& op, Buffer codes, kernels::CodeType type,
                               std::vector<Buffer> reads,
                               std::function<float(const StepContext&)> zero_point,
                               int64_t channels) {
  const bool is_unsigned = IsUnsigned(type);
  const Buffer zero_points = op.Scratch("zero points", VarType::INT32, channels);
  const Buffer made = is_unsigned ? op.Scratch("signed codes", VarType::INT8, codes.size) : codes;
  reads.insert(reads.begin(), codes);
  std::vector<Buffer> writes = {zero_points};
  if (is_unsigned) writes.push_back(made);
  op.AddStep(
      {std::move(reads), std::move(writes),
       [=, zero_point = std::move(zero_point)](const StepContext& run) {
         const int32_t shift = is_unsigned ? kCodesInByte / 2 : 0;
         const absl::Span<int32_t> filled = run.Of<int32_t>(zero_points);
         std::fill(filled.begin(), filled.end(), static_cast<int32_t>(zero_point(run)) - shift);
         if (!is_unsigned) return absl::OkStatus();
         const absl::Span<uint8_t> from = run.Of<uint8_t>(codes);
         std::transform(from.begin(), from.end(), run.Of<int8_t>(made).begin(),
                        [](uint8_t code) { return static_cast<int8_t>(code - kCodesInByte / 2); });
         return absl::OkStatus();
       },
       "", 0, "signed weights"});
  return {made, zero_points};
}

}  // namespace fixpoint::executor
