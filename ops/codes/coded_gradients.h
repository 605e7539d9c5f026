// The gradient of an operand of a product, as sums of products of codes: those of the gradient of
// the product's result with those of the other operand. The planner says of each whether it is
// computed on integers, and the executor plans from it.

#ifndef FIXPOINT_OPS_CODES_CODED_GRADIENTS_H_
#define FIXPOINT_OPS_CODES_CODED_GRADIENTS_H_

#include <cstdint>
#include <optional>

#include "ops/codes/coded_product.h"

namespace fixpoint {

// The factors of the products: the left one may be unsigned. `products` are those of a sum, 0 where
// that is not known.
struct GradientSums {
  OperandCodes left;
  OperandCodes right;
  int64_t products = 0;
};

// Why they are not computed on integers; nothing: they are. Scales of channels do not leave sums
// that go over these channels.
std::optional<IntegerReason> WhyNotOnIntegers(const GradientSums& sums);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_CODED_GRADIENTS_H_
