#include "runtime/staged_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

}  // namespace

absl::StatusOr<StagedDirectory> StagedDirectory::Create(const std::string& directory) {
  // "weights/" and "weights" are one folder.
  fs::path path(directory);
  if (!path.has_filename()) path = path.parent_path();
  std::error_code error;
  const fs::file_status existing = fs::status(path, error);
  const bool is_new = existing.type() == fs::file_type::not_found;
  if (!is_new && error) return CannotBeWritten(directory, error);
  if (!is_new && !fs::is_directory(existing)) {
    return CannotBeWritten(directory, std::make_error_code(std::errc::not_a_directory));
  }

  const fs::path around = is_new ? path.parent_path() : path;
  for (int number = 0;; ++number) {
    const fs::path stage = around / absl::StrCat(".fixpoint-", getpid(), "-", number);
    if (mkdir(stage.c_str(), 0777) == 0) {
      return StagedDirectory(path.string(), stage.string(), is_new);
    }
    if (errno != EEXIST) return CannotBeWritten(directory);
  }
}

StagedDirectory::StagedDirectory(std::string directory, std::string stage, bool is_new)
    : directory_(std::move(directory)), stage_(std::move(stage)), is_new_(is_new) {}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : directory_(std::move(other.directory_)),
      stage_(std::exchange(other.stage_, "")),
      is_new_(other.is_new_),
      names_(std::move(other.names_)) {}

StagedDirectory::~StagedDirectory() {
  std::error_code ignored;
  if (!stage_.empty()) fs::remove_all(stage_, ignored);
}

absl::Status StagedDirectory::CheckFile(const std::string& directory, const std::string& name) {
  const fs::path target = fs::path(directory) / name;
  std::error_code ignored;
  if (fs::is_directory(target, ignored)) {
    return CannotBeWritten(target.string(), std::make_error_code(std::errc::is_a_directory));
  }
  // The innermost existing parent folder holds what is made.
  for (fs::path around = target.parent_path(); around.has_filename();
       around = around.parent_path()) {
    if (!fs::exists(fs::symlink_status(around, ignored))) continue;
    if (!fs::is_directory(around, ignored)) {
      return CannotBeWritten(target.string(), std::make_error_code(std::errc::not_a_directory));
    }
    if (access(around.c_str(), W_OK | X_OK) != 0) {
      return CannotBeWritten(target.string());
    }
    break;
  }
  return absl::OkStatus();
}

absl::StatusOr<AtomicFile> StagedDirectory::CreateFile(const std::string& name) {
  const fs::path path = fs::path(stage_) / name;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return CannotBeWritten(absl::StrCat(directory_, "/", name), error);
  names_.push_back(name);
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path.string()));
  file.CallIt((fs::path(directory_) / name).string());
  return file;
}

absl::Status StagedDirectory::Commit() {
  std::error_code error;
  if (is_new_) {
    fs::rename(stage_, directory_, error);
    if (error) return CannotBeWritten(directory_, error);
    stage_.clear();
    return SyncFolder(
        fs::path(directory_).has_parent_path() ? fs::path(directory_).parent_path().string() : ".");
  }

  // Everything that would stop a rename is checked before the first one.
  for (const std::string& name : names_) RETURN_IF_ERROR(CheckFile(directory_, name));
  for (const std::string& name : names_) {
    const fs::path target = fs::path(directory_) / name;
    fs::create_directories(target.parent_path(), error);
    if (error) return CannotBeWritten(target.string(), error);
  }
  for (const std::string& name : names_) {
    const fs::path target = fs::path(directory_) / name;
    fs::rename(fs::path(stage_) / name, target, error);
    if (error) return CannotBeWritten(target.string(), error);
  }
  std::set<std::string> folders;
  for (const std::string& name : names_) {
    folders.insert((fs::path(directory_) / name).parent_path().string());
  }
  for (const std::string& folder : folders) RETURN_IF_ERROR(SyncFolder(folder));
  return absl::OkStatus();
}

}  // namespace fixpoint
