#include "proto/file/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // the largest window; zlib's mark for a gzip header
constexpr size_t kChunkBytes = 1 << 16;
constexpr int kMemoryLevel = 8;  // zlib's default
constexpr size_t kMostAtOnce = std::numeric_limits<uInt>::max() / 2;

// The size that the last member claims to expand to, which may be a lie.
size_t SizeAtEnd(absl::string_view bytes) {
  if (bytes.size() < sizeof(uint32_t)) return 0;
  uint32_t size;
  std::memcpy(&size, bytes.data() + bytes.size() - sizeof(size), sizeof(size));
  return size;
}

}  // namespace

bool IsGzip(absl::string_view bytes) { return absl::StartsWith(bytes, "\x1f\x8b"); }

size_t MostExpandedBytes(size_t compressed) {
  constexpr size_t kRatio = 100;
  constexpr size_t kAlways = size_t{1} << 24;
  return std::max(kAlways, compressed * kRatio);
}

absl::StatusOr<std::string> Gzip(absl::string_view bytes) {
  if (bytes.size() > kMostAtOnce) {
    return absl::FailedPreconditionError(absl::StrCat(
        "there are ", bytes.size(), " bytes to compress; expected at most ", kMostAtOnce));
  }
  z_stream stream = {};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return absl::InternalError("zlib cannot be initialized");
  }
  const auto end_stream = absl::MakeCleanup([&] { deflateEnd(&stream); });
  std::string compressed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(&compressed[0]);
  stream.avail_out = static_cast<uInt>(compressed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) {
    return absl::InternalError("zlib cannot compress into the size that it asked for");
  }
  compressed.resize(compressed.size() - stream.avail_out);
  return compressed;
}

absl::StatusOr<std::string> Gunzip(absl::string_view bytes, size_t max_bytes,
                                   absl::string_view file_name) {
  z_stream stream = {};
  if (inflateInit2(&stream, kGzipWindowBits) != Z_OK) {
    return absl::InternalError("zlib cannot be initialized");
  }
  const auto end_stream = absl::MakeCleanup([&] { inflateEnd(&stream); });

  std::string expanded;
  expanded.reserve(std::min(max_bytes, SizeAtEnd(bytes)));
  std::vector<char> chunk(kChunkBytes);
  while (true) {
    const size_t input = std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(input);
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    const size_t output = chunk.size() - stream.avail_out;
    bytes.remove_prefix(input - stream.avail_in);
    if (output > max_bytes - expanded.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_name, ": expands to too much; expected at most ", max_bytes, " bytes"));
    }
    expanded.append(chunk.data(), output);
    if (result == Z_STREAM_END) {
      if (bytes.empty()) return expanded;
      if (!IsGzip(bytes)) {
        return absl::DataLossError(absl::StrCat(file_name, ": ", bytes.size(), " bytes follow ",
                                                "the gzip stream; expected its end"));
      }
      inflateReset(&stream);
    } else if (result == Z_BUF_ERROR) {
      return absl::DataLossError(
          absl::StrCat(file_name, ": the gzip stream ends early; the file is truncated"));
    } else if (result != Z_OK) {
      return absl::DataLossError(absl::StrCat(file_name, ": the gzip stream is damaged: ",
                                              stream.msg == nullptr ? zError(result) : stream.msg));
    }
  }
}

}  // namespace fixpoint
