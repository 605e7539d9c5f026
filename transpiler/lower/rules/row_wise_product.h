// Products of codes with a parameter whose columns have a zero point each.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_ROW_WISE_PRODUCT_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_ROW_WISE_PRODUCT_H_

#include "absl/status/statusor.h"
#include "ops/codes/coded_product.h"
#include "transpiler/lower/rules/affine_parameter.h"
#include "transpiler/lower/rules/product_of_codes.h"

namespace fixpoint {

// Puts integer_row_wise_fc in the place of the op. A bias of floats that is the op's own, the first
// stage of its epilogue, is added in int32, if that holds it (ops/bias_codes.h). REQUIRES: the
// codes of a bias are in steps of the sums.
absl::StatusOr<IntegerReason> LowerRowWiseProduct(const Op& op, const ProductOfCodes& product,
                                                  const CodedProduct& coded,
                                                  const ActivationCodes& activation,
                                                  const AffineParameterCodes& weights,
                                                  Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_ROW_WISE_PRODUCT_H_
