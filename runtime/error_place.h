// Errors that say where they are: in which program or file, member or variable, at which byte.

#ifndef FIXPOINT_RUNTIME_ERROR_PLACE_H_
#define FIXPOINT_RUNTIME_ERROR_PLACE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// A name from a file or a program, which may hold any bytes.
inline std::string Quoted(absl::string_view name) {
  return absl::StrCat("\"", absl::Utf8SafeCEscape(name), "\"");
}

// `status` with `prefix` before its message; OK stays OK.
inline absl::Status Prefixed(absl::string_view prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, status.message()));
}

// `status` as that of a program or file of this name.
inline absl::Status In(absl::string_view name, const absl::Status& status) {
  return Prefixed(absl::StrCat(name, ": "), status);
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
