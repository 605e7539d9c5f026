#include "proto/file/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

absl::Status CannotBeWritten(absl::string_view path, absl::string_view reason) {
  return absl::UnavailableError(absl::StrCat(path, ": cannot be written: ", reason));
}

absl::Status CannotBeWritten(absl::string_view path, const std::error_code& error) {
  return CannotBeWritten(path, error.message());
}

absl::Status CannotBeWritten(absl::string_view path) {
  return CannotBeWritten(path, std::error_code(errno, std::generic_category()));
}

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  std::string target = path;
  struct stat existing;
  const bool exists = stat(path.c_str(), &existing) == 0;
  if (exists) {
    if (!S_ISREG(existing.st_mode)) {
      return CannotBeWritten(path, "it is there and is not a regular file");
    }
    std::error_code error;
    target = std::filesystem::canonical(path, error).string();
    if (error) return CannotBeWritten(path, error);
  } else if (errno != ENOENT) {
    return CannotBeWritten(path);
  } else if (lstat(path.c_str(), &existing) == 0) {
    return CannotBeWritten(path, "it is a symbolic link that leads nowhere");
  }

  const std::string stem = absl::StrCat(FolderOf(target), "/.fixpoint-", getpid(), "-");
  std::string temporary;
  int descriptor = -1;
  for (int number = 0; descriptor < 0; ++number) {
    temporary = absl::StrCat(stem, number);
    descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) return CannotBeWritten(path);
  }
  AtomicFile file(path, std::move(target), std::move(temporary), descriptor);
  if (exists && fchmod(descriptor, existing.st_mode & 07777) != 0) {
    return CannotBeWritten(path);
  }
  return file;
}

AtomicFile::AtomicFile(std::string path, std::string target, std::string temporary, int descriptor)
    : path_(std::move(path)),
      target_(std::move(target)),
      temporary_(std::move(temporary)),
      descriptor_(descriptor) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, "")),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status AtomicFile::Append(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      return CannotBeWritten(path_);
    }
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  if (fsync(descriptor_) != 0) return CannotBeWritten(path_);
  if (close(std::exchange(descriptor_, -1)) != 0) return CannotBeWritten(path_);
  if (rename(temporary_.c_str(), target_.c_str()) != 0) return CannotBeWritten(path_);
  temporary_.clear();
  return SyncFolder(FolderOf(target_));
}

absl::Status SyncFolder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return CannotBeWritten(folder);
  // Some file systems have nothing to sync for a folder, and return EINVAL.
  const bool is_synced = fsync(descriptor) == 0 || errno == EINVAL;
  const absl::Status status = is_synced ? absl::OkStatus() : CannotBeWritten(folder);
  close(descriptor);
  return status;
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes) {
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RETURN_IF_ERROR(file.Append(bytes));
  return file.Commit();
}

}  // namespace fixpoint
