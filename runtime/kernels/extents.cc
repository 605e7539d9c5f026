#include "runtime/kernels/extents.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace fixpoint::kernels {

absl::Status CheckExtents(absl::string_view what, DimsView dims) {
  for (const int64_t extent : dims) {
    if (extent < 1 || extent > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " ", DimsText(dims), "; want extents of 1 to 2^31 - 1"));
    }
  }
  constexpr int64_t kMostElements = int64_t{1} << 61;
  const absl::StatusOr<int64_t> count = ElementCount(dims);
  if (count.ok() && *count < kMostElements) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", DimsText(dims), "; want fewer than 2^61 elements"));
}

}  // namespace fixpoint::kernels
