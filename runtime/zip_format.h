// The records of a zip archive, little endian, by the offsets of their fields (PKWARE APPNOTE
// 6.3.3, sections 4.3.7, 4.3.12 and 4.3.16).

#ifndef FIXPOINT_RUNTIME_ZIP_FORMAT_H_
#define FIXPOINT_RUNTIME_ZIP_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace fixpoint {

// Before the contents of each member: this, its name, an extra field.
inline constexpr uint32_t kLocalSignature = 0x04034b50;
inline constexpr size_t kLocalBytes = 30;
inline constexpr size_t kLocalNameLength = 26;
inline constexpr size_t kLocalExtraLength = 28;

// In the central directory for each member: this, its name, an extra field, a comment.
inline constexpr uint32_t kCentralSignature = 0x02014b50;
inline constexpr size_t kCentralBytes = 46;
inline constexpr size_t kCentralFlags = 8;
inline constexpr size_t kCentralMethod = 10;
inline constexpr size_t kCentralCrc = 16;
inline constexpr size_t kCentralStoredSize = 20;
inline constexpr size_t kCentralSize = 24;
inline constexpr size_t kCentralNameLength = 28;
inline constexpr size_t kCentralExtraLength = 30;
inline constexpr size_t kCentralCommentLength = 32;
inline constexpr size_t kCentralLocalOffset = 42;

// At the end of the archive: this and a comment.
inline constexpr uint32_t kEndSignature = 0x06054b50;
inline constexpr size_t kEndBytes = 22;
inline constexpr size_t kEndDisk = 4;
inline constexpr size_t kEndDirectoryDisk = 6;
inline constexpr size_t kEndMembersOfDisk = 8;
inline constexpr size_t kEndMembers = 10;
inline constexpr size_t kEndDirectoryBytes = 12;
inline constexpr size_t kEndDirectoryOffset = 16;
inline constexpr size_t kEndCommentLength = 20;

inline constexpr uint16_t kFlagEncrypted = 1 << 0;
inline constexpr uint16_t kFlagUtf8 = 1 << 11;

inline constexpr uint16_t kMethodStored = 0;
inline constexpr uint16_t kMethodDeflated = 8;

// The value of a field whose actual value is in a zip64 record.
inline constexpr uint16_t kInZip64Of16 = 0xFFFF;
inline constexpr uint32_t kInZip64Of32 = 0xFFFFFFFF;

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_ZIP_FORMAT_H_
