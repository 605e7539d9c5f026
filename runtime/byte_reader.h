// Reads a file from front to back, and checks that what a format promises is there before memory is
// allocated for it.

#ifndef FIXPOINT_RUNTIME_BYTE_READER_H_
#define FIXPOINT_RUNTIME_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fixpoint {

// Errors name the byte, not the file, which the caller knows: kDataLoss, "byte 12: the data needs
// 16 bytes, 4 are left".
class ByteReader {
 public:
  // Opens a regular file, a pipe or a device. Errors: kNotFound; kInvalidArgument for a path that
  // cannot be opened, and for a folder. These errors name the file.
  static absl::StatusOr<ByteReader> Open(const std::string& path);

  // Reads `bytes`, which must outlive the reader.
  static ByteReader Over(absl::string_view bytes);

  // The number of bytes read so far.
  uint64_t position() const { return position_; }

  // Fails unless `size` more bytes are there. For a regular file the length tells; from a pipe they
  // are read ahead, so that memory grows only as they arrive.
  absl::Status Expect(absl::string_view what, uint64_t size);

  // Fills `out`.
  absl::Status Read(absl::string_view what, absl::Span<uint8_t> out);

  // Little endian.
  absl::StatusOr<uint16_t> ReadU16(absl::string_view what);
  absl::StatusOr<uint32_t> ReadU32(absl::string_view what);
  absl::StatusOr<uint64_t> ReadU64(absl::string_view what);

  absl::StatusOr<bool> AtEnd();

  // The number of bytes that are left; nothing for a pipe.
  std::optional<uint64_t> left() const {
    return length_ ? std::optional(*length_ - position_) : std::nullopt;
  }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, CloseFile>;

  ByteReader(File file, absl::string_view bytes, std::optional<uint64_t> length);

  template <typename T>
  absl::StatusOr<T> ReadNumber(absl::string_view what);

  File file_;  // nullptr where bytes_ are read.
  absl::string_view bytes_;
  std::optional<uint64_t> length_;  // A pipe has none.
  uint64_t position_ = 0;
  std::string ahead_;  // What was read from a pipe and not yet used.
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_BYTE_READER_H_
