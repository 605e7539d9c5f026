#include <zlib.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/error_place.h"
#include "runtime/zip_archive.h"
#include "runtime/zip_format.h"

namespace fixpoint {
namespace {

constexpr uint16_t kVersion = 20;   // 2.0, which has stored members and folders.
constexpr uint16_t kDate = 0x0021;  // 1 January 1980.

void AppendU16(uint16_t number, std::string* out) {
  out->push_back(static_cast<char>(number));
  out->push_back(static_cast<char>(number >> 8));
}

void AppendU32(uint32_t number, std::string* out) {
  AppendU16(static_cast<uint16_t>(number), out);
  AppendU16(static_cast<uint16_t>(number >> 16), out);
}

// What the record before a member and that in the directory have in common.
std::string CommonFields(absl::string_view name, uint32_t crc, uint32_t size) {
  std::string fields;
  AppendU16(kVersion, &fields);
  AppendU16(std::all_of(name.begin(), name.end(), absl::ascii_isascii) ? 0 : kFlagUtf8, &fields);
  AppendU16(kMethodStored, &fields);
  AppendU16(0, &fields);  // The time.
  AppendU16(kDate, &fields);
  AppendU32(crc, &fields);
  AppendU32(size, &fields);  // As stored.
  AppendU32(size, &fields);
  AppendU16(static_cast<uint16_t>(name.size()), &fields);
  AppendU16(0, &fields);  // The length of the extra field.
  return fields;
}

absl::Status IsTooLarge() {
  return absl::UnimplementedError(absl::StrCat(
      "the archive would have more than ", kMaxZipBytes, " bytes or ", kInZip64Of16 - 1,
      " members, for which zip64 would be needed; save the arrays as .npy files"));
}

}  // namespace

absl::Status ZipWriter::Add(absl::string_view name, absl::Span<const absl::string_view> pieces) {
  if (name.empty() || name.size() > UINT16_MAX || absl::StrContains(name, '\0')) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(name), " cannot be the name of a member of a zip archive"));
  }
  uint64_t size = 0;
  uLong crc = 0;
  for (const absl::string_view piece : pieces) {
    // zlib takes a null pointer as a request for the initial checksum.
    if (piece.empty()) continue;
    size += piece.size();
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
  }
  const uint64_t end = position_ + kLocalBytes + name.size() + size;
  const uint64_t archive_size = end + directory_.size() + kCentralBytes + name.size() + kEndBytes;
  if (archive_size > kMaxZipBytes || members_ + 1 == kInZip64Of16) return IsTooLarge();

  const std::string common =
      CommonFields(name, static_cast<uint32_t>(crc), static_cast<uint32_t>(size));
  std::string local;
  AppendU32(kLocalSignature, &local);
  absl::StrAppend(&local, common, name);
  RETURN_IF_ERROR(sink_(local));
  for (const absl::string_view piece : pieces) RETURN_IF_ERROR(sink_(piece));

  AppendU32(kCentralSignature, &directory_);
  AppendU16(kVersion, &directory_);  // The version of the writer.
  directory_ += common;
  directory_.append(10, '\0');  // No comment, disk 0, no attributes.
  AppendU32(static_cast<uint32_t>(position_), &directory_);
  absl::StrAppend(&directory_, name);
  position_ = end;
  ++members_;
  return absl::OkStatus();
}

absl::Status ZipWriter::Finish() {
  std::string end;
  AppendU32(kEndSignature, &end);
  AppendU32(0, &end);  // This disk, and that of the directory.
  AppendU16(static_cast<uint16_t>(members_), &end);
  AppendU16(static_cast<uint16_t>(members_), &end);
  AppendU32(static_cast<uint32_t>(directory_.size()), &end);
  AppendU32(static_cast<uint32_t>(position_), &end);
  AppendU16(0, &end);  // The length of the comment.
  RETURN_IF_ERROR(sink_(directory_));
  return sink_(end);
}

}  // namespace fixpoint
