// A product on integers whose sums become codes by a multiplier and a shift.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_REQUANTIZED_PRODUCT_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_REQUANTIZED_PRODUCT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

// Whether a quantizer of what the op `requantize` (fake_requantize) gives makes the codes that this
// op has computed. It makes others where its scale is not that of the op, or is so small that floats
// do not hold the numbers or the multiplier. Error: that of Lowering::FindParameter. REQUIRES: codes
// of 8 bits.
absl::StatusOr<bool> GivesRequantizedCodes(const Quantization& quantization, const Op& requantize,
                                           Lowering& lowering);

// The factor of each channel (RequantizationFactor, ops/fixed_point.h) by which a product on
// integers does what `requantize` does with its sums; none where the product does more than add up
// and cut off what is negative, its channels are not those of the op, or its scales are not the
// steps that the op divides by. Errors: those of Lowering::FindParameter.
absl::StatusOr<std::vector<float>> FindRequantizationFactors(const Op& product,
                                                             const Op& requantize,
                                                             Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_REQUANTIZED_PRODUCT_H_
