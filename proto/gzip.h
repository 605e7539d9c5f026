// Gzipped bytes (RFC 1952).

#ifndef FIXPOINT_PROTO_GZIP_H_
#define FIXPOINT_PROTO_GZIP_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

bool IsGzip(absl::string_view bytes);

// The most that a file of so many compressed bytes is expanded to: a hundred times as many, or
// 16 MiB. Programs and images expand to 30 times as many at the most, and deflate can do 1032,
// which only repetitions of nothing much come near. So memory stays in proportion to the file.
size_t MostExpandedBytes(size_t compressed);

// One member that expands to `bytes`; always the same for the same bytes. Error
// (kFailedPrecondition): it has more than zlib can count.
absl::StatusOr<std::string> Gzip(absl::string_view bytes);

// What `bytes`, one gzip member or several, expand to.
//
// Errors: kInvalidArgument if that is more than `max_bytes`, of which no more is held in memory;
// kDataLoss for a stream that is damaged, ends early or goes on after its end.
absl::StatusOr<std::string> Gunzip(absl::string_view bytes, size_t max_bytes,
                                   absl::string_view file_name);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_GZIP_H_
