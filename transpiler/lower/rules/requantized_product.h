// A product on integers whose sums become codes by a multiplier and a shift.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_REQUANTIZED_PRODUCT_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_REQUANTIZED_PRODUCT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

// The factor of each channel (RequantizationFactor, ops/fixed_point.h) by which a product on
// integers does what an op, fake_requantize, does with its sums; none where the product does
// more than add up and cut off what is negative, its channels are not those of the op, or its
// scales are not the steps that the op divides by. Errors: those of Lowering::FindParameter.
absl::StatusOr<std::vector<float>> FindRequantizationFactors(const Op& product,
                                                             const Op& requantize,
                                                             Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_REQUANTIZED_PRODUCT_H_
