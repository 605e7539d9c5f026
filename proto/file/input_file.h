// Whole files, and standard input, as bytes.

#ifndef FIXPOINT_PROTO_FILE_INPUT_FILE_H_
#define FIXPOINT_PROTO_FILE_INPUT_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace fixpoint {

// The most bytes of a text file: of what programs write, and of what people do.
inline constexpr size_t kMostTextBytes = 64 << 20;
inline constexpr size_t kMostPageBytes = 1 << 20;

// How messages refer to the file at `path`: "standard input" for "-".
std::string InputName(const std::string& path);

// The bytes of the file at `path`, or of standard input for "-". Pipes are read to their end.
//
// Errors: kNotFound if there is no such file; kInvalidArgument for a file that cannot be read or
// has more than `max_bytes`, of which no more is held in memory.
absl::StatusOr<std::string> ReadInputFile(const std::string& path, size_t max_bytes);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FILE_INPUT_FILE_H_
