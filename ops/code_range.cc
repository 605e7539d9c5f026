#include "ops/code_range.h"

#include "absl/strings/str_cat.h"

namespace fixpoint {

absl::Status CheckBits(absl::string_view attribute, int64_t bits, int least_bits) {
  if (AreBits(bits, least_bits)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(attribute, " is ", bits, "; want ", least_bits, " to ", kMostBits));
}

absl::StatusOr<QuantSpec::Rounding> RoundingOfType(int32_t round_type) {
  for (const auto rounding : {QuantSpec::HALF_TO_EVEN, QuantSpec::HALF_AWAY_FROM_ZERO}) {
    if (round_type == RoundTypeOf(rounding)) return rounding;
  }
  return absl::InvalidArgumentError(absl::StrCat("round_type is ", round_type, "; want 0 or 1"));
}

}  // namespace fixpoint
