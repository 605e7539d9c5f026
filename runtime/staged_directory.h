// Several files of one folder that appear together: all are written and synced aside before the
// first of them takes its place.

#ifndef FIXPOINT_RUNTIME_STAGED_DIRECTORY_H_
#define FIXPOINT_RUNTIME_STAGED_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/atomic_file.h"

namespace fixpoint {

// A folder that is not there yet appears whole, by one rename. In a folder that is there, files of
// the same names are replaced one by one and all others stay; whatever fails before (a full disk)
// leaves it as it was, and a crash between two renames leaves old files beside new ones, each of
// them whole. A crash may leave a folder ".fixpoint-<process>-<number>" in it or beside it.
//
// Every error, here and below, is kUnavailable, "<path>: cannot be written: <the system's reason>".
class StagedDirectory {
 public:
  // The folder that is to hold `directory` must be there.
  static absl::StatusOr<StagedDirectory> Create(const std::string& directory);

  StagedDirectory(StagedDirectory&& other) noexcept;
  StagedDirectory& operator=(StagedDirectory&& other) = delete;
  // Without Commit, nothing changes.
  ~StagedDirectory();

  // Whether a file of that name can stand in the folder `directory`, which need not be there: no
  // folder is where the file goes, and no file or read-only folder where a folder around it goes.
  static absl::Status CheckFile(const std::string& directory, const std::string& name);

  // A file of the folder, to be committed before the folder is. Slashes in `name` are sub-folders,
  // which are made. REQUIRES: `name` is relative and has no "..", and is new.
  absl::StatusOr<AtomicFile> CreateFile(const std::string& name);

  // REQUIRES: called once, and last.
  absl::Status Commit();

 private:
  StagedDirectory(std::string directory, std::string stage, bool is_new);

  std::string directory_;
  std::string stage_;  // Empty once it is renamed or given to another object.
  bool is_new_;
  std::vector<std::string> names_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_STAGED_DIRECTORY_H_
