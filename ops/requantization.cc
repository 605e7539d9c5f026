#include "ops/requantization.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ops/op_form.h"
#include "proto/program/op.h"

namespace fixpoint {

absl::Status CheckRequantizationFactor(float factor) {
  if (factor >= 0 && factor <= 0x1p29f) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a factor of requantize is ", factor, "; want 0 to 2^29"));
}

std::optional<RequantizationOp> ReadRequantization(const Op& op, Era era) {
  if (op.type() != kRequantize) return std::nullopt;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era);
  RequantizationOp read;
  read.input = op.Input("X");
  read.output = op.Output("Out");
  read.input_range = op.Input("InputScale");
  read.weight_ranges = op.Input("WeightScale");
  read.output_range = op.Input("OutputScale");
  if (!attributes || read.input == nullptr || read.output == nullptr ||
      read.input_range == nullptr || read.weight_ranges == nullptr ||
      read.output_range == nullptr) {
    return std::nullopt;
  }
  read.input_largest_code = static_cast<int32_t>(attributes->Int("input_largest_code"));
  read.weight_largest_code = static_cast<int32_t>(attributes->Int("weight_largest_code"));
  read.output_largest_code = static_cast<int32_t>(attributes->Int("output_largest_code"));
  read.channel_axis = static_cast<int>(attributes->Int("channel_axis"));
  read.multiplier_bits = static_cast<int>(attributes->Int("multiplier_bits"));
  read.roundings = static_cast<int>(attributes->Int("roundings"));
  const bool is_right =
      std::min({read.input_largest_code, read.weight_largest_code, read.output_largest_code}) >=
          1 &&
      read.channel_axis >= 0 && (read.multiplier_bits == 16 || read.multiplier_bits == 32) &&
      (read.roundings == 1 || read.roundings == 2);
  return is_right ? std::optional(read) : std::nullopt;
}

}  // namespace fixpoint
