// Files that are either replaced whole or left as they were: written beside their path, synced,
// renamed. A crash leaves at most a file ".fixpoint-<process>-<number>" beside it.

#ifndef FIXPOINT_PROTO_FILE_ATOMIC_FILE_H_
#define FIXPOINT_PROTO_FILE_ATOMIC_FILE_H_

#include <functional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// Takes the bytes of a file piece by piece.
using ByteSink = std::function<absl::Status(absl::string_view)>;

// The error of what is to be written: kUnavailable, "<path>: cannot be written: <the reason>".
absl::Status CannotBeWritten(absl::string_view path, absl::string_view reason);
absl::Status CannotBeWritten(absl::string_view path, const std::error_code& error);
// With the reason why the last call of the system failed (errno).
absl::Status CannotBeWritten(absl::string_view path);

// Every error is that of CannotBeWritten.
class AtomicFile {
 public:
  // Opens a new file beside `path`, with the permissions of the file that it will replace, or those
  // of a new file. A symbolic link is followed: its target will be replaced. An existing path that
  // is not a regular file (a folder, a device) is refused, and so is a link to nowhere.
  static absl::StatusOr<AtomicFile> Create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) = delete;
  // Without Commit, `path` stays as it was.
  ~AtomicFile();

  // The name that messages give the file from now on, as one that will be moved has another.
  void CallIt(std::string path) { path_ = std::move(path); }

  absl::Status Append(absl::string_view bytes);

  // Moves what was appended to `path`. REQUIRES: called once, and last.
  absl::Status Commit();

 private:
  AtomicFile(std::string path, std::string target, std::string temporary, int descriptor);

  std::string path_;       // As the caller named it, for messages.
  std::string target_;     // Where the links lead.
  std::string temporary_;  // Empty once it is renamed or given to another object.
  int descriptor_;         // -1 once closed.
};

// Makes the renames and removals inside `folder` survive a loss of power.
absl::Status SyncFolder(const std::string& folder);

absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FILE_ATOMIC_FILE_H_
