// What stands after a product or a convolution and is done in one step with it: a bias, batch norm
// by given statistics, a residual, an activation.

#ifndef FIXPOINT_TESTS_RANDOM_GENERATORS_AFTER_PRODUCT_H_
#define FIXPOINT_TESTS_RANDOM_GENERATORS_AFTER_PRODUCT_H_

#include <string>

#include "ops/dims.h"
#include "tests/random/random_case.h"

namespace fixpoint::random_cases {

// Adds ops of what `value`, with channels along `axis`, holds, and fetches the last one's output.
// Gives how many times as large as an error of `value` that of the output can be.
double AddAfterProduct(CaseMaker& c, std::string value, const Dims& dims, int axis);

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_GENERATORS_AFTER_PRODUCT_H_
