// Products of codes with a parameter whose columns have a zero point each.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_ROW_WISE_PRODUCT_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_ROW_WISE_PRODUCT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ops/codes/coded_product.h"
#include "transpiler/lower/rules/product_of_codes.h"

namespace fixpoint {

// Puts integer_row_wise_fc in the place of the op, whose sums have these scales. A bias that is the
// op's own and is rounded to the sums is added in int32, if that holds it (ops/bias_codes.h).
// Errors: those of AddScales. REQUIRES: product.weight.rows.
absl::StatusOr<IntegerReason> LowerRowWiseProduct(const Op& op, const ProductOfCodes& product,
                                                  BiasKind bias, std::vector<float> scales,
                                                  Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_ROW_WISE_PRODUCT_H_
