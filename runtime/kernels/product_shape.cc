#include "runtime/kernels/product_shape.h"

#include "proto/base/status_macros.h"
#include "runtime/kernels/extents.h"

namespace fixpoint::kernels {

absl::Status CheckShape(const ProductShape& shape) {
  RETURN_IF_ERROR(CheckExtents("x", {shape.batch, shape.rows, shape.inner}));
  RETURN_IF_ERROR(CheckExtents("y", {shape.batch, shape.inner, shape.columns}));
  return CheckExtents("the product", {shape.batch, shape.rows, shape.columns});
}

}  // namespace fixpoint::kernels
