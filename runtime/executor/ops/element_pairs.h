// Elements of two operands that are paired, one of them repeated where it has 1: for ops that have
// no kernel of vector loops.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_ELEMENT_PAIRS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_ELEMENT_PAIRS_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/placed_dims.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/strided_copy.h"

namespace fixpoint::executor {

// The dims of a result, and the distance in both operands from one element along each axis to the
// next.
struct Pairing {
  Dims dims;
  Dims x_strides;
  Dims y_strides;
};

// From X, Y and `axis`. Error (kInvalidArgument): they do not fit.
inline absl::StatusOr<Pairing> PairingOf(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const Dims& y = op.InputDims("Y");
  const int64_t axis = op.attributes().Int("axis");
  const auto rank = static_cast<int>(std::max(x.size(), y.size()));
  Pairing pairing;
  ASSIGN_OR_RETURN(const Dims x_dims, PlacedDims(x, rank, axis));
  ASSIGN_OR_RETURN(const Dims y_dims, PlacedDims(y, rank, axis));
  pairing.x_strides = kernels::RowMajorLayout(x_dims).strides;
  pairing.y_strides = kernels::RowMajorLayout(y_dims).strides;
  for (int i = 0; i < rank; ++i) {
    if (x_dims[i] != y_dims[i] && x_dims[i] != 1 && y_dims[i] != 1) {
      return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x), " and Y is ",
                                                     DimsText(y),
                                                     "; want equal sizes, or 1 to be repeated"));
    }
    if (x_dims[i] == 1) pairing.x_strides[i] = 0;
    if (y_dims[i] == 1) pairing.y_strides[i] = 0;
    pairing.dims.push_back(x_dims[i] == 1 ? y_dims[i] : x_dims[i]);
  }
  return pairing;
}

// Calls f(i, x_i, y_i) with the places of each element of the result and of what it is made of.
template <typename F>
void ForEachPair(const Pairing& pairing, int64_t size, F f) {
  Dims index(pairing.dims.size(), 0);
  int64_t x = 0;
  int64_t y = 0;
  for (int64_t i = 0; i < size; ++i) {
    f(i, x, y);
    for (int axis = static_cast<int>(index.size()) - 1; axis >= 0; --axis) {
      x += pairing.x_strides[axis];
      y += pairing.y_strides[axis];
      if (++index[axis] < pairing.dims[axis]) break;
      x -= pairing.x_strides[axis] * pairing.dims[axis];
      y -= pairing.y_strides[axis] * pairing.dims[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_ELEMENT_PAIRS_H_
