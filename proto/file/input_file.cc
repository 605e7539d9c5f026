#include "proto/file/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {
namespace {

constexpr size_t kChunkBytes = 1 << 18;

absl::Status CannotBeRead(const std::string& name, int error) {
  const std::string message = absl::StrCat(
      name, ": cannot be read: ", std::error_code(error, std::generic_category()).message());
  return error == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
}

absl::Status TooLarge(const std::string& name, size_t max_bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": is too large; expected at most ", max_bytes, " bytes"));
}

}  // namespace

std::string InputName(const std::string& path) { return path == "-" ? "standard input" : path; }

absl::StatusOr<std::string> ReadInputFile(const std::string& path, size_t max_bytes) {
  const std::string name = InputName(path);
  const bool is_stdin = path == "-";
  const int descriptor = is_stdin ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return CannotBeRead(name, errno);
  const auto close_file = absl::MakeCleanup([&] {
    if (!is_stdin) close(descriptor);
  });

  std::string bytes;
  struct stat attributes;
  if (fstat(descriptor, &attributes) != 0) return CannotBeRead(name, errno);
  if (S_ISREG(attributes.st_mode)) {
    if (static_cast<size_t>(attributes.st_size) > max_bytes) return TooLarge(name, max_bytes);
    bytes.reserve(static_cast<size_t>(attributes.st_size) + 1);
  }
  while (true) {
    const size_t size = bytes.size();
    // One byte more than the file's size is reserved, so that the last read finds the end.
    const size_t reserved = bytes.capacity() - size;
    const size_t chunk = reserved > 0 ? std::min(reserved, kChunkBytes) : kChunkBytes;
    bytes.resize(size + std::min(chunk, max_bytes - size + 1));
    const ssize_t count = read(descriptor, &bytes[size], bytes.size() - size);
    bytes.resize(size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return bytes;
    if (count < 0 && errno != EINTR) return CannotBeRead(name, errno);
    if (bytes.size() > max_bytes) return TooLarge(name, max_bytes);
  }
}

}  // namespace fixpoint
