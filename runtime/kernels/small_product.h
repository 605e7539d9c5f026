// Products of so few codes that what oneDNN does before and after them takes as long as they do.

#ifndef FIXPOINT_RUNTIME_KERNELS_SMALL_PRODUCT_H_
#define FIXPOINT_RUNTIME_KERNELS_SMALL_PRODUCT_H_

#include <memory>

#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

// As a row of sums_kernels.h. There is one matrix, and x is not transposed.
bool IsForSmallProduct(const SumsProblem& problem);
std::unique_ptr<IntegerSums> PlanSmallProduct(const SumsProblem& problem);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SMALL_PRODUCT_H_
