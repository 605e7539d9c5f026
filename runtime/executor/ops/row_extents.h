// Tensors as rows: the extents of all dimensions but the first.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_ROW_EXTENTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_ROW_EXTENTS_H_

#include <cstddef>
#include <cstdint>

#include "ops/dims.h"
#include "runtime/executor/plan.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {

// The elements of a row; 1 for a scalar.
inline int64_t RowSize(DimsView dims) {
  int64_t size = 1;
  for (size_t i = 1; i < dims.size(); ++i) size *= dims[i];
  return size;
}

inline int64_t RowBytes(const TensorType& type) {
  return RowSize(type.dims) * static_cast<int64_t>(ElementSize(type.dtype));
}

// REQUIRES: the dims are not those of a scalar.
inline Dims WithRows(const Dims& dims, int64_t rows) {
  Dims result = dims;
  result[0] = rows;
  return result;
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_ROW_EXTENTS_H_
