// How many beams a search has.

#ifndef FIXPOINT_OPS_BEAM_SIZE_H_
#define FIXPOINT_OPS_BEAM_SIZE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {

// Memory for sentences is taken for all beams, so that their number has a limit.
inline constexpr int64_t kMostBeams = 65536;

// An attribute beam_size. Error (kInvalidArgument): it is not from 1 to kMostBeams.
inline absl::StatusOr<int64_t> CheckedBeamSize(int64_t beam_size) {
  if (beam_size >= 1 && beam_size <= kMostBeams) return beam_size;
  return absl::InvalidArgumentError(
      absl::StrCat("beam_size is ", beam_size, "; want 1 to ", kMostBeams));
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_BEAM_SIZE_H_
