// Gzipped bytes (RFC 1952).

#ifndef FIXPOINT_PROTO_FILE_GZIP_H_
#define FIXPOINT_PROTO_FILE_GZIP_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

bool IsGzip(absl::string_view bytes);

// The largest size to which a file of `compressed` bytes is expanded: a hundred times that, or 16
// MiB if that is more. Programs and images expand to at most 30 times their size; deflate can reach
// 1032, which only highly repetitive data comes near. So memory stays in proportion to the file.
size_t MostExpandedBytes(size_t compressed);

// One member that expands to `bytes`; always the same for the same bytes. Error
// (kFailedPrecondition): there are more bytes than zlib can count.
absl::StatusOr<std::string> Gzip(absl::string_view bytes);

// Expands `bytes`, one gzip member or several.
//
// Errors: kInvalidArgument if that gives more than `max_bytes`, of which no more is held in memory;
// kDataLoss for a stream that is damaged, ends early or continues after its end.
absl::StatusOr<std::string> Gunzip(absl::string_view bytes, size_t max_bytes,
                                   absl::string_view file_name);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FILE_GZIP_H_
