// Products of matrices of codes.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_PRODUCT_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_PRODUCT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

// The input is x; the weights are y, and each column has a scale. Errors: kInvalidArgument: those
// of CheckShape; a sum may not fit in 32 bits; those of Planned (onednn.h).
absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerProduct(
    const ProductShape& shape, const SumCoding& coding, const Epilogue& epilogue = {},
    OutputType output = OutputType::kFloat);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_PRODUCT_H_
