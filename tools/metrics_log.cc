#include "tools/metrics_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/file/atomic_file.h"
#include "tools/command_line.h"

namespace fixpoint {
absl::StatusOr<MetricsLog> MetricsLog::Open(const std::string& path, int64_t length) {
  if (path.empty()) return MetricsLog("", -1);
  if (path == "-") return MetricsLog("standard output", STDOUT_FILENO);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  MetricsLog log(path, open(path.c_str(), kFlags | O_EXCL, 0666));
  log.is_new_ = log.descriptor_ >= 0;
  if (!log.is_new_) log.descriptor_ = open(path.c_str(), kFlags, 0666);
  if (log.descriptor_ < 0) return CannotBeWritten(path);
  struct stat status;
  if (fstat(log.descriptor_, &status) != 0) return CannotBeWritten(path);
  log.is_file_ = S_ISREG(status.st_mode);
  if (!log.is_file_) return log;
  if (status.st_size > length && ftruncate(log.descriptor_, length) != 0) {
    return CannotBeWritten(path);
  }
  log.whole_lines_ = std::min<int64_t>(status.st_size, length);
  return log;
}

MetricsLog::MetricsLog(MetricsLog&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      is_new_(other.is_new_),
      is_file_(other.is_file_),
      whole_lines_(other.whole_lines_) {}

MetricsLog::~MetricsLog() {
  if (descriptor_ < 0 || descriptor_ == STDOUT_FILENO) return;
  close(descriptor_);
  if (is_new_ && whole_lines_ == 0) unlink(path_.c_str());
}

absl::Status MetricsLog::Append(absl::string_view line) {
  if (descriptor_ == STDOUT_FILENO) return WriteStandardOutput(line);
  absl::string_view rest = line;
  while (is_open() && !rest.empty()) {
    const ssize_t written = write(descriptor_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(written);
    } else if (errno != EINTR) {
      const absl::Status error = CannotBeWritten(path_);
      if (is_file_ && ftruncate(descriptor_, whole_lines_) != 0) {
        return absl::UnavailableError(
            absl::StrCat(error.message(), "; a part of its last line is left"));
      }
      return error;
    }
  }
  whole_lines_ += static_cast<int64_t>(line.size());
  return absl::OkStatus();
}

absl::StatusOr<int64_t> MetricsLog::Sync() {
  if (!is_file_) return 0;
  if (fsync(descriptor_) != 0) return CannotBeWritten(path_);
  return whole_lines_;
}

}  // namespace fixpoint
