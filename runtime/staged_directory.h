// Several files of one folder that appear together: all are written and synced under temporary
// names before the first of them is moved into place.

#ifndef FIXPOINT_RUNTIME_STAGED_DIRECTORY_H_
#define FIXPOINT_RUNTIME_STAGED_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/file/atomic_file.h"

namespace fixpoint {

// A folder that does not exist yet appears whole, by one rename. In an existing folder, files of
// the same names are replaced one by one and all others stay; a failure before that (a full disk)
// leaves it as it was, and a crash between two renames leaves old files beside new ones, each of
// them whole. A crash may leave a folder ".fixpoint-<process>-<number>" in it or beside it.
//
// Every error, here and below, is that of CannotBeWritten (proto/file/atomic_file.h).
class StagedDirectory {
 public:
  // The folder that will hold `directory` must exist.
  static absl::StatusOr<StagedDirectory> Create(const std::string& directory);

  StagedDirectory(StagedDirectory&& other) noexcept;
  StagedDirectory& operator=(StagedDirectory&& other) = delete;
  // Without Commit, nothing changes.
  ~StagedDirectory();

  // Whether a file of that name can be in the folder `directory`, which need not exist: no folder
  // is in the file's place, and no file or read-only folder in the place of a parent folder.
  static absl::Status CheckFile(const std::string& directory, const std::string& name);

  // A file of the folder, to be committed before the folder is. Slashes in `name` are sub-folders,
  // which are created. REQUIRES: `name` is relative and has no "..", and is new.
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
