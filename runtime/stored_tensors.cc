#include "runtime/stored_tensors.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/byte_reader.h"
#include "runtime/error_place.h"
#include "runtime/guarded_call.h"
#include "runtime/tensor_stream.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

absl::Status VisitCombinedFile(const std::string& path, const TensorVisitor& visit) {
  ASSIGN_OR_RETURN(ByteReader reader, ByteReader::Open(path));
  for (;;) {
    ASSIGN_OR_RETURN(const bool at_end, reader.AtEnd());
    if (at_end) return absl::OkStatus();
    absl::StatusOr<TensorHeader> header = ReadTensorHeader(reader);
    if (!header.ok()) return Prefixed(absl::StrCat(path, ": "), header.status());
    const absl::StatusOr<Tensor> tensor = ReadTensorData(*std::move(header), reader);
    if (!tensor.ok()) return Prefixed(absl::StrCat(path, ": "), tensor.status());
    visit("", *tensor);
  }
}

// The regular files of a folder and its sub-folders, by their paths in it.
absl::StatusOr<absl::btree_set<std::string>> FilesOf(const std::string& folder) {
  absl::btree_set<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    files.insert(it->path().lexically_relative(folder).string());
  }
  if (!error) return files;
  return absl::InvalidArgumentError(
      absl::StrCat(folder, ": the folder cannot be read: ", error.message()));
}

absl::StatusOr<std::vector<FileLeftOut>> VisitFolder(const std::string& folder,
                                                     const TensorVisitor& visit) {
  ASSIGN_OR_RETURN(const absl::btree_set<std::string> files, FilesOf(folder));
  std::vector<FileLeftOut> left_out;
  for (const std::string& file : files) {
    const std::string path = (fs::path(folder) / file).string();
    ASSIGN_OR_RETURN(ByteReader reader, ByteReader::Open(path));
    absl::StatusOr<TensorHeader> header = ReadTensorHeader(reader);
    if (!header.ok()) {
      left_out.push_back({file, header.status()});
      continue;
    }
    const absl::StatusOr<Tensor> tensor = ReadTensorData(*std::move(header), reader);
    if (!tensor.ok()) return Prefixed(absl::StrCat(path, ": "), tensor.status());
    const uint64_t end = reader.position();
    ASSIGN_OR_RETURN(const bool at_end, reader.AtEnd());
    if (!at_end) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": byte ", end, ": bytes follow the tensor; want one in each file of ",
                       "a folder; a combined file is named itself, not its folder"));
    }
    visit(file, *tensor);
  }
  if (left_out.size() < files.size()) return left_out;
  return absl::InvalidArgumentError(absl::StrCat(
      folder, ": no file of the folder holds a tensor",
      left_out.empty() ? ""
                       : absl::StrCat("; ", left_out[0].name, ": ", left_out[0].why.message())));
}

}  // namespace

absl::StatusOr<std::vector<FileLeftOut>> VisitStoredTensors(const std::string& path,
                                                            const TensorVisitor& visit) {
  return GuardedCall(path, [&]() -> absl::StatusOr<std::vector<FileLeftOut>> {
    std::error_code error;
    if (fs::is_directory(path, error)) return VisitFolder(path, visit);
    RETURN_IF_ERROR(VisitCombinedFile(path, visit));
    return std::vector<FileLeftOut>();
  });
}

}  // namespace fixpoint
