#include "tools/metrics_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tools/command_line.h"

namespace fixpoint {
namespace {

absl::Status CannotBeWritten(const std::string& path) {
  return absl::UnavailableError(absl::StrCat(path, ": cannot be written: ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<MetricsLog> MetricsLog::Open(const std::string& path, int64_t length) {
  if (path.empty()) return MetricsLog("", -1);
  if (path == "-") return MetricsLog("standard output", STDOUT_FILENO);
  MetricsLog log(path, open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (log.descriptor_ < 0) return CannotBeWritten(path);
  struct stat status;
  if (fstat(log.descriptor_, &status) != 0) return CannotBeWritten(path);
  if (S_ISREG(status.st_mode) && status.st_size > length &&
      ftruncate(log.descriptor_, length) != 0) {
    return CannotBeWritten(path);
  }
  return log;
}

MetricsLog::MetricsLog(MetricsLog&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

MetricsLog::~MetricsLog() {
  if (descriptor_ >= 0 && descriptor_ != STDOUT_FILENO) close(descriptor_);
}

absl::Status MetricsLog::Append(absl::string_view line) {
  if (descriptor_ == STDOUT_FILENO) return WriteStandardOutput(line);
  while (is_open() && !line.empty()) {
    const ssize_t written = write(descriptor_, line.data(), line.size());
    if (written >= 0) {
      line.remove_prefix(written);
    } else if (errno != EINTR) {
      return CannotBeWritten(path_);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> MetricsLog::Sync() {
  struct stat status;
  if (!is_open()) return 0;
  if (fstat(descriptor_, &status) != 0) return CannotBeWritten(path_);
  if (!S_ISREG(status.st_mode) || descriptor_ == STDOUT_FILENO) return 0;
  if (fsync(descriptor_) != 0) return CannotBeWritten(path_);
  return status.st_size;
}

}  // namespace fixpoint
