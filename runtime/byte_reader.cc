#include "runtime/byte_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "numbers are read as they lie in the file");

// Memory that may be allocated for a pipe before its bytes have arrived.
constexpr size_t kReadAheadStep = size_t{1} << 20;

std::string SystemError(int error) {
  return std::error_code(error, std::generic_category()).message();
}

}  // namespace

absl::StatusOr<ByteReader> ByteReader::Open(const std::string& path) {
  File file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) {
    const int error = errno;
    const std::string message =
        absl::StrCat(path, ": cannot be opened for reading: ", SystemError(error));
    return error == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
  }
  struct stat attributes;
  if (fstat(fileno(file.get()), &attributes) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", SystemError(errno)));
  }
  if (S_ISDIR(attributes.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder, not a file"));
  }
  std::optional<uint64_t> length;
  if (S_ISREG(attributes.st_mode)) length = static_cast<uint64_t>(attributes.st_size);
  return ByteReader(std::move(file), "", length);
}

ByteReader ByteReader::Over(absl::string_view bytes) {
  return ByteReader(nullptr, bytes, bytes.size());
}

ByteReader::ByteReader(File file, absl::string_view bytes, std::optional<uint64_t> length)
    : file_(std::move(file)), bytes_(bytes), length_(length) {}

absl::Status ByteReader::Expect(absl::string_view what, uint64_t size) {
  uint64_t left = 0;
  if (length_.has_value()) {
    left = *length_ - position_;
  } else {
    while (ahead_.size() < size) {
      const size_t before = ahead_.size();
      const size_t step = std::min<uint64_t>(kReadAheadStep, size - before);
      ahead_.resize(before + step);
      const size_t got = std::fread(&ahead_[before], 1, step, file_.get());
      ahead_.resize(before + got);
      if (got < step) break;
    }
    left = ahead_.size();
    if (left < size && std::ferror(file_.get()) != 0) {
      return absl::DataLossError(
          absl::StrCat("byte ", position_ + left, ": cannot be read: ", SystemError(errno)));
    }
  }
  if (left >= size) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("byte ", position_, ": ", what, " needs ", size, " bytes, ", left, " are left"));
}

absl::Status ByteReader::Read(absl::string_view what, absl::Span<uint8_t> out) {
  RETURN_IF_ERROR(Expect(what, out.size()));
  if (out.empty()) return absl::OkStatus();
  if (file_ == nullptr) {
    std::memcpy(out.data(), bytes_.data() + position_, out.size());
  } else if (!length_.has_value()) {
    std::memcpy(out.data(), ahead_.data(), out.size());
    ahead_.erase(0, out.size());
    if (ahead_.empty()) ahead_.shrink_to_fit();
  } else if (std::fread(out.data(), 1, out.size(), file_.get()) != out.size()) {
    return absl::DataLossError(absl::StrCat(
        "byte ", position_, ": ", what, " cannot be read: ",
        std::ferror(file_.get()) != 0 ? SystemError(errno) : "the file was cut while it was read"));
  }
  position_ += out.size();
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<T> ByteReader::ReadNumber(absl::string_view what) {
  uint8_t bytes[sizeof(T)];
  RETURN_IF_ERROR(Read(what, absl::MakeSpan(bytes)));
  T number;
  std::memcpy(&number, bytes, sizeof(T));
  return number;
}

absl::StatusOr<uint16_t> ByteReader::ReadU16(absl::string_view what) {
  return ReadNumber<uint16_t>(what);
}

absl::StatusOr<uint32_t> ByteReader::ReadU32(absl::string_view what) {
  return ReadNumber<uint32_t>(what);
}

absl::StatusOr<uint64_t> ByteReader::ReadU64(absl::string_view what) {
  return ReadNumber<uint64_t>(what);
}

absl::StatusOr<bool> ByteReader::AtEnd() {
  if (length_.has_value()) return position_ == *length_;
  if (!ahead_.empty()) return false;
  const int next = std::fgetc(file_.get());
  if (next != EOF) {
    ahead_.push_back(static_cast<char>(next));
    return false;
  }
  if (std::ferror(file_.get()) != 0) {
    return absl::DataLossError(
        absl::StrCat("byte ", position_, ": cannot be read: ", SystemError(errno)));
  }
  return true;
}

}  // namespace fixpoint
