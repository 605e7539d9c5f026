#include "runtime/npz.h"

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"
#include "runtime/byte_reader.h"
#include "runtime/error_place.h"
#include "runtime/guarded_call.h"
#include "runtime/npy.h"
#include "runtime/tensor.h"
#include "runtime/zip_archive.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kExtension = ".npy";

absl::StatusOr<Scope> ReadMembers(absl::string_view archive) {
  ASSIGN_OR_RETURN(const std::vector<ZipMember> members, ListZipMembers(archive));
  Scope scope;
  for (const ZipMember& member : members) {
    const std::string place = absl::StrCat("member ", Quoted(member.name), ": ");
    absl::string_view name = member.name;
    if (!absl::ConsumeSuffix(&name, kExtension)) {
      return absl::InvalidArgumentError(absl::StrCat(place, "it is no array (.npy)"));
    }
    std::string expanded;
    ASSIGN_OR_RETURN(const absl::string_view contents, ZipContents(member, &expanded));
    ByteReader reader = ByteReader::Over(contents);
    absl::StatusOr<Tensor> tensor = ReadWholeNpy(reader);
    if (!tensor.ok()) return Prefixed(place, tensor.status());
    scope.Set(name, *std::move(tensor));
  }
  return scope;
}

// Whether an error is that a tensor cannot be written, not one of what it is written to.
bool IsOfTensor(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsInvalidArgument(status);
}

absl::Status AddMember(const std::string& name, const Scope::Value& value, ZipWriter& writer) {
  const auto* tensor = std::get_if<Tensor>(&value);
  if (tensor == nullptr) {
    return absl::UnimplementedError("it holds selected rows, which an array does not");
  }
  ASSIGN_OR_RETURN(const std::string preamble, NpyPreamble(*tensor));
  const absl::Span<const uint8_t> bytes = tensor->bytes();
  return writer.Add(
      absl::StrCat(name, kExtension),
      {preamble, absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())});
}

absl::Status WriteMembers(const Scope& scope, const ByteSink& sink) {
  ZipWriter writer(sink);
  for (const auto& [name, value] : scope) {
    const absl::Status status = AddMember(name, value, writer);
    if (IsOfTensor(status)) {
      return Prefixed(absl::StrCat("variable ", Quoted(name), ": "), status);
    }
    RETURN_IF_ERROR(status);
  }
  return writer.Finish();
}

}  // namespace

absl::StatusOr<Scope> ParseNpz(absl::string_view bytes, absl::string_view file_name) {
  return GuardedCall(file_name, [&] {
    absl::StatusOr<Scope> scope = ReadMembers(bytes);
    if (!scope.ok()) scope = Prefixed(absl::StrCat(file_name, ": "), scope.status());
    return scope;
  });
}

absl::StatusOr<Scope> LoadNpz(const std::string& path) {
  return GuardedCall(InputName(path), [&]() -> absl::StatusOr<Scope> {
    ASSIGN_OR_RETURN(const std::string bytes, ReadInputFile(path, kMaxZipBytes));
    return ParseNpz(bytes, InputName(path));
  });
}

absl::Status WriteNpz(const Scope& scope, const ByteSink& sink) {
  return GuardedCall("an archive of arrays", [&] { return WriteMembers(scope, sink); });
}

absl::StatusOr<AtomicFile> StageNpz(const Scope& scope, const std::string& path) {
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  const absl::Status status =
      WriteNpz(scope, [&](absl::string_view bytes) { return file.Append(bytes); });
  // An error of the file has its name already.
  if (IsOfTensor(status) || absl::IsFailedPrecondition(status)) {
    return Prefixed(absl::StrCat(path, ": "), status);
  }
  RETURN_IF_ERROR(status);
  return file;
}

}  // namespace fixpoint
