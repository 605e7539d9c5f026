// The rows of a product of matrices, for steps that compute a block of them (step_rows.h).

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_ROWS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/step_rows.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::executor {

// The buffers of a product. REQUIRES: X is not transposed; several matrices are read as they lie.
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

  // Of a block of so many rows: of the only matrix, or of several. Error: they are not; a kernel
  // for one matrix would pack y.
  absl::StatusOr<kernels::ProductShape> ShapeOf(int64_t rows) const {
    kernels::ProductShape block = shape;
    if (shape.batch == 1) {
      block.rows = rows;
      return block;
    }
    block.batch = rows / shape.rows;
    if (block.batch > 1) return block;
    return absl::UnimplementedError("a block is less than two matrices");
  }

  // What a block of so many rows has of x or of elements, and of y.
  Buffer OfRows(Buffer buffer, int64_t rows) const {
    return {buffer.index, buffer.size / count() * rows};
  }
  Buffer OfMatrices(Buffer buffer, const kernels::ProductShape& block) const {
    return {buffer.index, buffer.size / shape.batch * block.batch};
  }
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_ROWS_H_
