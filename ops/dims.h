// Dimensions of tensors, some of which may be unknown.

#ifndef FIXPOINT_OPS_DIMS_H_
#define FIXPOINT_OPS_DIMS_H_

#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fixpoint {

using Dims = absl::InlinedVector<int64_t, 6>;
using DimsView = absl::Span<const int64_t>;

// A dimension that is unknown before a program runs. Any negative one reads as this.
inline constexpr int64_t kUnknownDim = -1;

// No tensor of the reference has more than 9; a description with more than this is not read.
inline constexpr int kMostDims = 64;

// "[-1, 3, 8, 8]"; if there are more than kMostDims, the first of them and their number.
std::string DimsText(DimsView dims);

// Number of elements, kUnknownDim if one of them is unknown (and none is 0). Error: more than
// 2^63 - 1.
absl::StatusOr<int64_t> ElementCount(DimsView dims);

// Whether two tensors' dimensions may be the same once all are known.
bool MayBeEqual(DimsView a, DimsView b);
inline bool MayBeEqual(int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; }

// An axis counted from the front, of one that may be negative. Error: it is not in
// [-rank, rank).
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_DIMS_H_
