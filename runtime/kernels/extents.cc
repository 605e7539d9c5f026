#include "runtime/kernels/extents.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint::kernels {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

}  // namespace

absl::Status CheckExtents(absl::string_view what, DimsView dims) {
  for (const int64_t extent : dims) {
    if (extent < 1 || extent > kLargest) {
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

absl::Status CheckWindow(const Window& window) {
  for (const WindowAxis& axis : window) {
    RETURN_IF_ERROR(
        CheckExtents("kernel, stride and dilation", {axis.kernel, axis.stride, axis.dilation}));
    for (const int64_t pad : {axis.pad_before, axis.pad_after}) {
      if (pad >= 0 && pad <= kLargest) continue;
      return absl::InvalidArgumentError(absl::StrCat("a padding is ", pad, "; want 0 to 2^31 - 1"));
    }
  }
  return absl::OkStatus();
}

}  // namespace fixpoint::kernels
