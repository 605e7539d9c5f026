// Walks over the elements of arrays: along an axis, and over two arrays that broadcast.

#ifndef FIXPOINT_RUNTIME_REFERENCE_WALK_H_
#define FIXPOINT_RUNTIME_REFERENCE_WALK_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/dims.h"
#include "runtime/reference/array.h"

namespace fixpoint::reference {

// Dims seen as [outer, size, inner] around the axes [begin, end): element (o, i, k) is at
// (o * size + i) * inner + k.
struct AxisView {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;

  int64_t At(int64_t o, int64_t i, int64_t k) const { return (o * size + i) * inner + k; }
};
// REQUIRES: 0 <= begin <= end <= rank.
AxisView ViewAround(DimsView dims, int begin, int end);
inline AxisView ViewAround(DimsView dims, int axis) { return ViewAround(dims, axis, axis + 1); }

// Calls f(start, stride, size) with each line of elements along an axis.
template <typename F>
void ForEachLine(const AxisView& view, F f) {
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t k = 0; k < view.inner; ++k) f(view.At(o, 0, k), view.inner, view.size);
  }
}

// The distance in memory between neighbours along each axis.
Dims Strides(DimsView dims);

// Two arrays whose elements are paired, each repeated along the axes where it has stride 0.
struct Pairing {
  Dims dims;  // of the result
  Dims x_strides;
  Dims y_strides;
};

// The reference's rule for elementwise ops: of unequal ranks the shorter, without its trailing 1s,
// stands at the longer's dimensions from `axis` on, with -1 at its end; dimensions of 1 broadcast.
// Error (kInvalidArgument): the dims do not fit.
absl::StatusOr<Pairing> Pair(DimsView x, DimsView y, int64_t axis = -1);

// Calls f(i, x_i, y_i) with the places of each result and of what it is made of, in order.
template <typename F>
void ForEachPair(const Pairing& pairing, F f) {
  const int64_t count = Volume(pairing.dims);
  Dims index(pairing.dims.size(), 0);
  int64_t x = 0;
  int64_t y = 0;
  for (int64_t i = 0; i < count; ++i) {
    f(i, x, y);
    for (int axis = static_cast<int>(index.size()) - 1; axis >= 0; --axis) {
      x += pairing.x_strides[axis];
      y += pairing.y_strides[axis];
      if (++index[axis] < pairing.dims[axis]) break;
      index[axis] = 0;
      x -= pairing.x_strides[axis] * pairing.dims[axis];
      y -= pairing.y_strides[axis] * pairing.dims[axis];
    }
  }
}

// Calls f(i, x_i) with the places of all elements of an array of those dims and strides, in order.
template <typename F>
void ForEachPlace(const Dims& dims, const Dims& strides, F f) {
  ForEachPair({dims, strides, strides}, [&f](int64_t i, int64_t x, int64_t) { f(i, x); });
}

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_WALK_H_
