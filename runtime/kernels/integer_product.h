// Products of matrices of codes.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_PRODUCT_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_PRODUCT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/kernels/biased_sums.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

// The input is x; the weights are y, and each column has a scale. Errors: kInvalidArgument: those
// of CheckShape; a sum may not fit in 32 bits; those of Planned (onednn.h).
absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerProduct(
    const ProductShape& shape, const InputCoding& x, const Epilogue& epilogue = {},
    OutputType output = OutputType::kFloat);

// The same with a bias in int32 for each column. Errors: the same; 32 bits may not hold a sum with
// its bias.
absl::StatusOr<std::unique_ptr<BiasedSums>> PlanBiasedProduct(
    const ProductShape& shape, const InputCoding& x, const Epilogue& epilogue = {},
    OutputType output = OutputType::kFloat);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_PRODUCT_H_
