#include "ops/dims.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fixpoint {

std::string DimsText(DimsView dims) {
  if (dims.size() <= kMostDims) return absl::StrCat("[", absl::StrJoin(dims, ", "), "]");
  return absl::StrCat("[", absl::StrJoin(dims.subspan(0, kMostDims), ", "), ", ... ", dims.size(),
                      " in all]");
}

absl::StatusOr<int64_t> ElementCount(DimsView dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim < 0) return kUnknownDim;
    if (__builtin_mul_overflow(count, dim, &count)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a tensor ", DimsText(dims), " has more elements than an int64 holds"));
    }
  }
  return count;
}

bool MayBeEqual(DimsView a, DimsView b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!MayBeEqual(a[i], b[i])) return false;
  }
  return true;
}

absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is not one of a tensor of ",
                                                   rank, " dimensions; want ", -rank, " to ",
                                                   rank - 1));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace fixpoint
