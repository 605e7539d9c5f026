#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/file/gzip.h"
#include "runtime/error_place.h"
#include "runtime/zip_archive.h"
#include "runtime/zip_format.h"

namespace fixpoint {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read as they lie in a file");

// REQUIRES: `record` has the field.
uint16_t U16At(absl::string_view record, size_t offset) {
  uint16_t value;
  std::memcpy(&value, record.data() + offset, sizeof(value));
  return value;
}

uint32_t U32At(absl::string_view record, size_t offset) {
  uint32_t value;
  std::memcpy(&value, record.data() + offset, sizeof(value));
  return value;
}

absl::Status IsZip64() {
  return absl::UnimplementedError(
      "this is a zip64 archive, as of 4 GiB and more; save the arrays as .npy files");
}

// The position of the end record, which only a comment follows. REQUIRES: the archive has the bytes
// of one.
std::optional<size_t> FindEnd(absl::string_view archive) {
  const size_t last = archive.size() - kEndBytes;
  for (size_t comment = 0; comment <= std::min<size_t>(last, UINT16_MAX); ++comment) {
    const absl::string_view end = archive.substr(last - comment);
    if (U32At(end, 0) == kEndSignature && U16At(end, kEndCommentLength) == comment) {
      return last - comment;
    }
  }
  return std::nullopt;
}

struct Directory {
  absl::string_view records;
  uint64_t position;
  size_t members;
};

absl::StatusOr<Directory> FindDirectory(absl::string_view archive) {
  const std::optional<size_t> found = archive.size() < kEndBytes ? std::nullopt : FindEnd(archive);
  if (!found.has_value()) {
    return absl::DataLossError(
        "there is no end of a zip archive; the file was cut, or is no zip archive (.npz)");
  }
  const size_t position = *found;
  const absl::string_view end = archive.substr(position);
  const uint64_t offset = U32At(end, kEndDirectoryOffset);
  const uint64_t size = U32At(end, kEndDirectoryBytes);
  const uint16_t members = U16At(end, kEndMembers);
  if (members == kInZip64Of16 || offset == kInZip64Of32 || size == kInZip64Of32) return IsZip64();
  if (U16At(end, kEndDisk) != 0 || U16At(end, kEndDirectoryDisk) != 0 ||
      U16At(end, kEndMembersOfDisk) != members) {
    return At(position, absl::UnimplementedError("the archive is a part of several"));
  }
  if (offset + size != position) {
    return Malformed(
        position, absl::StrCat("the directory of the archive is said to be bytes ", offset, " to ",
                               offset + size, "; expected it to end here"));
  }
  return Directory{archive.substr(offset, size), offset, members};
}

// A member and where it lies in the archive.
struct PlacedMember {
  ZipMember member;
  uint64_t begin;
  uint64_t end;
};

// Finds what a record of the directory, read as `member`, describes.
absl::StatusOr<PlacedMember> Place(ZipMember member, uint64_t begin, uint32_t stored_size,
                                   absl::string_view before_directory) {
  if (begin + kLocalBytes > before_directory.size()) {
    return Malformed(begin,
                     absl::StrCat("expected member ", Quoted(member.name),
                                  " here; the directory starts at byte ", before_directory.size()));
  }
  const absl::string_view local = before_directory.substr(begin);
  const size_t name_length = U16At(local, kLocalNameLength);
  if (U32At(local, 0) != kLocalSignature || local.substr(kLocalBytes, name_length) != member.name) {
    return Malformed(begin, absl::StrCat("expected member ", Quoted(member.name), " here"));
  }
  const uint64_t data = begin + kLocalBytes + name_length + U16At(local, kLocalExtraLength);
  const uint64_t end = data + stored_size;
  if (end > before_directory.size()) {
    return Malformed(begin,
                     absl::StrCat("member ", Quoted(member.name), " ends at byte ", end,
                                  "; the directory starts at byte ", before_directory.size()));
  }
  member.stored = before_directory.substr(data, stored_size);
  return PlacedMember{std::move(member), begin, end};
}

// Reads the first record of `rest`, which is at `position`, and removes it.
absl::StatusOr<PlacedMember> ReadRecord(absl::string_view before_directory, uint64_t position,
                                        absl::string_view* rest) {
  const auto cut = [&] {
    return Malformed(position, "the directory of the archive ends within a member");
  };
  if (rest->size() < kCentralBytes) return cut();
  const absl::string_view record = *rest;
  if (U32At(record, 0) != kCentralSignature) {
    return Malformed(position, "expected a member of the directory here");
  }
  const size_t name_length = U16At(record, kCentralNameLength);
  const size_t record_size = kCentralBytes + name_length + U16At(record, kCentralExtraLength) +
                             U16At(record, kCentralCommentLength);
  if (rest->size() < record_size) return cut();
  rest->remove_prefix(record_size);

  ZipMember member;
  member.name = std::string(record.substr(kCentralBytes, name_length));
  member.crc32 = U32At(record, kCentralCrc);
  member.size = U32At(record, kCentralSize);
  const uint32_t stored_size = U32At(record, kCentralStoredSize);
  const uint32_t begin = U32At(record, kCentralLocalOffset);
  const std::string place = absl::StrCat("member ", Quoted(member.name), ": ");
  if (member.size == kInZip64Of32 || stored_size == kInZip64Of32 || begin == kInZip64Of32) {
    return Prefixed(place, IsZip64());
  }
  if ((U16At(record, kCentralFlags) & kFlagEncrypted) != 0) {
    return absl::UnimplementedError(absl::StrCat(place, "it is encrypted"));
  }
  const uint16_t method = U16At(record, kCentralMethod);
  if (method != kMethodStored && method != kMethodDeflated) {
    return absl::UnimplementedError(
        absl::StrCat(place, "it is compressed by method ", method,
                     "; expected stored or deflated (numpy.savez, numpy.savez_compressed)"));
  }
  member.deflated = method == kMethodDeflated;
  if (!member.deflated && member.size != stored_size) {
    return Malformed(position, absl::StrCat(place, "it is stored as ", stored_size,
                                            " bytes and said to have ", member.size));
  }
  return Place(std::move(member), begin, stored_size, before_directory);
}

// An archive of a few bytes can expand to any size if its members share their bytes, or hold
// nothing but repetitions.
absl::Status CheckPlaces(const std::vector<PlacedMember>& members, size_t archive_bytes) {
  std::vector<const PlacedMember*> by_place;
  uint64_t expanded = 0;
  for (const PlacedMember& placed : members) {
    by_place.push_back(&placed);
    expanded += placed.member.size;
  }
  const uint64_t most = std::min<uint64_t>(kMaxZipBytes, MostExpandedBytes(archive_bytes));
  if (expanded > most) {
    return absl::InvalidArgumentError(absl::StrCat("the members of this archive of ", archive_bytes,
                                                   " bytes expand to ", expanded, "; at most ",
                                                   most, " are read"));
  }
  std::sort(by_place.begin(), by_place.end(),
            [](const PlacedMember* a, const PlacedMember* b) { return a->begin < b->begin; });
  for (size_t i = 1; i < by_place.size(); ++i) {
    if (by_place[i]->begin < by_place[i - 1]->end) {
      return Malformed(by_place[i]->begin,
                       absl::StrCat("members ", Quoted(by_place[i - 1]->member.name), " and ",
                                    Quoted(by_place[i]->member.name), " overlap"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ZipMember>> ListZipMembers(absl::string_view archive) {
  ASSIGN_OR_RETURN(const Directory directory, FindDirectory(archive));
  const absl::string_view before = archive.substr(0, directory.position);
  std::vector<PlacedMember> placed;
  absl::btree_set<std::string> names;
  absl::string_view rest = directory.records;
  while (!rest.empty()) {
    const uint64_t position = directory.position + directory.records.size() - rest.size();
    ASSIGN_OR_RETURN(PlacedMember member, ReadRecord(before, position, &rest));
    if (!names.insert(member.member.name).second) {
      return Malformed(position,
                       absl::StrCat("there are two members ", Quoted(member.member.name)));
    }
    placed.push_back(std::move(member));
  }
  if (placed.size() != directory.members) {
    return Malformed(directory.position, absl::StrCat("the directory has ", placed.size(),
                                                      " members; the end of the "
                                                      "archive says ",
                                                      directory.members));
  }
  RETURN_IF_ERROR(CheckPlaces(placed, archive.size()));
  std::vector<ZipMember> members;
  members.reserve(placed.size());
  for (PlacedMember& one : placed) members.push_back(std::move(one.member));
  return members;
}

absl::StatusOr<absl::string_view> ZipContents(const ZipMember& member, std::string* expanded) {
  absl::string_view contents = member.stored;
  const std::string place = absl::StrCat("member ", Quoted(member.name));
  if (member.deflated) {
    // A gzip member is such a stream too, after ten bytes and before the checksum and the size.
    std::string gzipped("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    gzipped.append(member.stored.data(), member.stored.size());
    for (const uint32_t number : {member.crc32, member.size}) {
      gzipped.append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
    absl::StatusOr<std::string> inflated = Gunzip(gzipped, member.size, place);
    // The message must not mention gzip, which the user does not know about.
    if (absl::IsDataLoss(inflated.status())) {
      return absl::DataLossError(absl::StrCat(
          place, ": the contents are damaged: they do not expand to what the archive says"));
    }
    ASSIGN_OR_RETURN(*expanded, std::move(inflated));
    contents = *expanded;
  }
  const auto crc = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(contents.data()), contents.size()));
  if (contents.size() != member.size || crc != member.crc32) {
    return absl::DataLossError(absl::StrCat(
        place, ": the contents are damaged: their checksum is not that of the archive"));
  }
  return contents;
}

}  // namespace fixpoint
