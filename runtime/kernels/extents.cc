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
  return ElementCount(dims).status();
}

}  // namespace fixpoint::kernels
