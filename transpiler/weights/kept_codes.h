// Codes that rounding has learned (round_weights.h), in a folder: the same are not learned twice,
// also where a run goes on after another was interrupted.

#ifndef FIXPOINT_TRANSPILER_WEIGHTS_KEPT_CODES_H_
#define FIXPOINT_TRANSPILER_WEIGHTS_KEPT_CODES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fixpoint {

// How the files in the folder begin: "rounding-0123456789abcdef.npy".
inline constexpr char kKeptCodesPrefix[] = "rounding-";

class KeptCodes {
 public:
  // "": nothing is kept.
  explicit KeptCodes(std::string folder) : folder_(std::move(folder)) {}

  // The codes that were kept by the checksum of all that they were learned from; none if none were.
  // Errors, with the file: those of LoadNpy; kInvalidArgument: it has no INT16 [count].
  absl::StatusOr<std::optional<std::vector<int32_t>>> Find(uint64_t learned_from,
                                                           size_t count) const;

  // Errors: kUnavailable: they cannot be written; kFailedPrecondition: there is no memory.
  // REQUIRES: codes of at most 16 bits.
  absl::Status Keep(uint64_t learned_from, absl::Span<const int32_t> codes) const;

 private:
  std::string FileOf(uint64_t learned_from) const;

  const std::string folder_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_WEIGHTS_KEPT_CODES_H_
