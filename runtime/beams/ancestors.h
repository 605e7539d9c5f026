// The words of each beam by the beams that they continue (gather_tree).

#ifndef FIXPOINT_RUNTIME_BEAMS_ANCESTORS_H_
#define FIXPOINT_RUNTIME_BEAMS_ANCESTORS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace fixpoint::beams {

// Ids and parents [steps, batch, beams]: out[t] of a beam of the last step is the id of its
// ancestor at step t. Error (kInvalidArgument): a parent that is needed is no beam. REQUIRES: the
// spans have so many elements.
template <typename T, typename Parent>
absl::Status GatherAncestors(int64_t steps, int64_t batch, int64_t beams, absl::Span<const T> ids,
                             absl::Span<const Parent> parents, absl::Span<T> out) {
  for (int64_t n = 0; n < batch * beams; ++n) {
    const int64_t first = n / beams * beams;
    int64_t beam = n % beams;
    for (int64_t t = steps - 1; t >= 0; --t) {
      const int64_t row = t * batch * beams;
      const int64_t from = row + first + beam;
      out[row + n] = ids[from];
      beam = static_cast<int64_t>(parents[from]);
      if (t == 0 || (beam >= 0 && beam < beams)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Parents has ", beam, "; want 0 to ", beams - 1));
    }
  }
  return absl::OkStatus();
}

}  // namespace fixpoint::beams

#endif  // FIXPOINT_RUNTIME_BEAMS_ANCESTORS_H_
