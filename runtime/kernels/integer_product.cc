#include "runtime/kernels/integer_product.h"

#include "proto/base/status_macros.h"
#include "runtime/kernels/sums_kernels.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerProduct(const ProductShape& shape,
                                                                const SumCoding& coding,
                                                                const Epilogue& epilogue,
                                                                OutputType output) {
  RETURN_IF_ERROR(CheckShape(shape));
  return PlanSums("a product", {shape, coding, epilogue, output});
}

}  // namespace fixpoint::kernels
