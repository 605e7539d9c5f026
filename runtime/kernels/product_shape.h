// The shape that a product of matrices is planned for.

#ifndef FIXPOINT_RUNTIME_KERNELS_PRODUCT_SHAPE_H_
#define FIXPOINT_RUNTIME_KERNELS_PRODUCT_SHAPE_H_

#include <cstdint>

#include "absl/status/status.h"

namespace fixpoint::kernels {

// x [batch, rows, inner], or transposed [batch, inner, rows], times y [batch, inner, columns], or
// transposed [batch, columns, inner], is [batch, rows, columns]. All row major.
struct ProductShape {
  int64_t batch = 1;
  int64_t rows = 1;
  int64_t inner = 1;
  int64_t columns = 1;
  bool transpose_x = false;
  bool transpose_y = false;

  // Whether y is packed. Several matrices are seldom constants: each run would pack them, which
  // takes as long as their products or several times that.
  bool packs_y() const { return batch == 1; }
  int64_t x_size() const { return batch * rows * inner; }
  int64_t y_size() const { return batch * inner * columns; }
  int64_t out_size() const { return batch * rows * columns; }
};

// Errors: those of CheckExtents (extents.h).
absl::Status CheckShape(const ProductShape& shape);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PRODUCT_SHAPE_H_
