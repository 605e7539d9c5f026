// One row times a matrix, which is as fast as the matrix is read.

#ifndef FIXPOINT_RUNTIME_KERNELS_ROW_PRODUCT_H_
#define FIXPOINT_RUNTIME_KERNELS_ROW_PRODUCT_H_

#include <cstdint>
#include <memory>

#include "runtime/kernels/product.h"

namespace fixpoint::kernels {

// Null on a machine without instructions that multiply and add at once. Each sum is added up in
// order, with one rounding for each product. REQUIRES: both extents are 1 or more.
std::unique_ptr<Product> PlanRowProduct(int64_t inner, int64_t columns, bool transpose_y);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ROW_PRODUCT_H_
