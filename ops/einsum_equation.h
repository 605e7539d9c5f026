// The equation of an einsum, "ij,jk->ik", as the axes of its operands and of its result.

#ifndef FIXPOINT_OPS_EINSUM_EQUATION_H_
#define FIXPOINT_OPS_EINSUM_EQUATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"

namespace fixpoint {

// An axis is a number below axis_count. The result is the sum, over the axes that it lacks, of the
// products of the operands' elements.
struct EinsumEquation {
  std::vector<std::vector<int>> operands;  // the axis of each dimension
  std::vector<int> result;
  int axis_count = 0;
};

// "..." stands for all dimensions of an operand that have no letter; those of several operands are
// the same from the last one on. Errors (kInvalidArgument): a character that is no letter; another
// number of operands or dimensions; no "->"; the result has a letter twice, or one that no operand
// has.
absl::StatusOr<EinsumEquation> ParseEinsum(absl::string_view equation,
                                           const std::vector<int>& ranks);

// The size of each axis, kUnknownDim where it is not known. A dimension of 1 of an axis that is
// longer elsewhere is repeated. Error (kInvalidArgument): two dimensions of an axis differ.
absl::StatusOr<Dims> EinsumSizes(const EinsumEquation& equation, const std::vector<Dims>& operands);

// How far apart in memory neighbours along each axis are: 0 where a tensor lacks it or repeats its
// only element. REQUIRES: the sizes are known, and `axes` are those of the dimensions.
std::vector<int64_t> EinsumStrides(const EinsumEquation& equation, const std::vector<int>& axes,
                                   DimsView dims);

// Calls f(places) with the places of the elements of each product, one for each row of `strides`,
// in the order of the axes.
template <typename F>
void ForEachEinsumProduct(DimsView sizes, const std::vector<std::vector<int64_t>>& strides, F f) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  std::vector<int64_t> index(sizes.size());
  std::vector<int64_t> places(strides.size());
  for (int64_t i = 0; i < count; ++i) {
    f(places);
    for (size_t axis = sizes.size(); axis-- > 0;) {
      const bool is_last = ++index[axis] == sizes[axis];
      const int64_t steps = is_last ? 1 - sizes[axis] : 1;
      for (size_t k = 0; k < strides.size(); ++k) places[k] += steps * strides[k][axis];
      if (!is_last) break;
      index[axis] = 0;
    }
  }
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_EINSUM_EQUATION_H_
