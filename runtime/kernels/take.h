// Entries of a tensor by their places along an axis.

#ifndef FIXPOINT_RUNTIME_KERNELS_TAKE_H_
#define FIXPOINT_RUNTIME_KERNELS_TAKE_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/lines.h"

namespace fixpoint::kernels {

// to [outer, places, inner]: element i of each line is that at places[i] of its line in `from`.
// Error (kInvalidArgument): a place is outside the line. REQUIRES: the sizes fit.
template <typename T, typename Place>
absl::Status Take(const Lines& lines, absl::Span<const T> from, absl::Span<const Place> places,
                  absl::Span<T> to) {
  for (const Place place : places) {
    if (place >= 0 && place < lines.length) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Index has ", place, "; want 0 to ", lines.length - 1));
  }
  T* next = to.data();
  for (int64_t outer = 0; outer < lines.outer && !places.empty(); ++outer) {
    const T* const line = from.data() + outer * lines.length * lines.inner;
    for (const Place place : places) {
      next = std::copy_n(line + place * lines.inner, lines.inner, next);
    }
  }
  return absl::OkStatus();
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_TAKE_H_
