// Errors that say where in a file they are.

#ifndef FIXPOINT_RUNTIME_ERROR_PLACE_H_
#define FIXPOINT_RUNTIME_ERROR_PLACE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// `status` with `prefix` before its message; OK stays OK.
inline absl::Status Prefixed(absl::string_view prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, status.message()));
}

// `status` as that of a byte.
inline absl::Status At(uint64_t position, const absl::Status& status) {
  return Prefixed(absl::StrCat("byte ", position, ": "), status);
}

// kInvalidArgument, "byte <position>: <what>".
inline absl::Status Malformed(uint64_t position, absl::string_view what) {
  return At(position, absl::InvalidArgumentError(what));
}

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_ERROR_PLACE_H_
