// The measurements of a training run, as lines of JSON in a file that grows.

#ifndef FIXPOINT_TOOLS_METRICS_LOG_H_
#define FIXPOINT_TOOLS_METRICS_LOG_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// The file holds whole lines: the rest of a line that could not be written is cut off, and a new
// file without lines is removed. Every error is kUnavailable, and names the file.
class MetricsLog {
 public:
  // Opens the file at `path`, "-" for standard output, "" for none. The first `length` bytes of an
  // existing file stay: what was written before a checkpoint.
  static absl::StatusOr<MetricsLog> Open(const std::string& path, int64_t length);

  MetricsLog(MetricsLog&& other) noexcept;
  MetricsLog& operator=(MetricsLog&& other) = delete;
  ~MetricsLog();

  bool is_open() const { return descriptor_ >= 0; }

  absl::Status Append(absl::string_view line);

  // Makes what was appended survive a loss of power; returns the file's length, or 0 for a stream.
  absl::StatusOr<int64_t> Sync();

 private:
  MetricsLog(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;           // -1: none
  bool is_new_ = false;      // the file did not exist before
  bool is_file_ = false;     // not a stream or a device
  int64_t whole_lines_ = 0;  // bytes of whole lines in a file
};

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_METRICS_LOG_H_
