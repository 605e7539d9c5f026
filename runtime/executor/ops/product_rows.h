// The rows of a product of matrices, for steps that compute a block of them (step_rows.h).

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_ROWS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/executor/plan.h"
#include "runtime/executor/step_rows.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::executor {

// The buffers of a product of matrices in both operands. REQUIRES: X is not transposed.
struct ProductRows {
  kernels::ProductShape shape;
  Buffer x;
  Buffer y;
  std::vector<Buffer> elements;  // that have as many as the result, which is one of them

  int64_t count() const { return shape.batch * shape.rows; }

  std::vector<StepRows::Part> parts() const {
    std::vector<StepRows::Part> parts = {{x, {count(), 1}}, {y, {shape.batch, shape.rows}}};
    for (const Buffer buffer : elements) parts.push_back({buffer, {count(), 1}});
    return parts;
  }

  // Of a block of so many rows, which are several matrices.
  kernels::ProductShape ShapeOf(int64_t rows) const {
    kernels::ProductShape block = shape;
    block.batch = rows / shape.rows;
    return block;
  }

  // What a block of so many rows has of x or of elements, and of y.
  Buffer OfRows(Buffer buffer, int64_t rows) const {
    return {buffer.index, buffer.size / count() * rows};
  }
  Buffer OfMatrices(Buffer buffer, int64_t rows) const {
    return {buffer.index, buffer.size / shape.batch * ShapeOf(rows).batch};
  }
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_ROWS_H_
