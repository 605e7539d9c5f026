// Gzipped bytes (RFC 1952).

#ifndef FIXPOINT_PROTO_GZIP_H_
#define FIXPOINT_PROTO_GZIP_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

bool IsGzip(absl::string_view bytes);

// What `bytes`, one gzip member or several, expand to.
//
// Errors: kInvalidArgument if that is more than `max_bytes`, of which no more is held in memory;
// kDataLoss for a stream that is damaged, ends early or goes on after its end.
absl::StatusOr<std::string> Gunzip(absl::string_view bytes, size_t max_bytes,
                                   absl::string_view file_name);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_GZIP_H_
