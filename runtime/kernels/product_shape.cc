#include "runtime/kernels/product_shape.h"

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/status_macros.h"

namespace fixpoint::kernels {

absl::Status CheckShape(const ProductShape& shape) {
  for (const int64_t extent : {shape.batch, shape.rows, shape.inner, shape.columns}) {
    if (extent < 1) {
      return absl::InvalidArgumentError(absl::StrCat(shape.batch, " products of [", shape.rows, ",",
                                                     shape.inner, "] and [", shape.inner, ",",
                                                     shape.columns, "]; want 1 or more of each"));
    }
  }
  for (const Dims& dims :
       {Dims{shape.batch, shape.rows, shape.inner}, Dims{shape.batch, shape.inner, shape.columns},
        Dims{shape.batch, shape.rows, shape.columns}}) {
    RETURN_IF_ERROR(ElementCount(dims).status());
  }
  return absl::OkStatus();
}

}  // namespace fixpoint::kernels
