// Zip archives as far as .npz files need them (PKWARE APPNOTE 6.3.3): members that are stored or
// deflated; no encryption, no multiple parts, no zip64, and so less than 4 GiB.

#ifndef FIXPOINT_RUNTIME_ZIP_ARCHIVE_H_
#define FIXPOINT_RUNTIME_ZIP_ARCHIVE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/file/atomic_file.h"

namespace fixpoint {

// The largest archive, and the largest size that the members of one expand to; members of a small
// one expand at most to MostExpandedBytes (proto/file/gzip.h).
inline constexpr uint64_t kMaxZipBytes = 0xFFFFFFFF;

// A member of an archive; a view of its bytes.
struct ZipMember {
  std::string name;
  bool deflated;
  absl::string_view stored;  // As they stand in the archive.
  uint32_t crc32;
  uint32_t size;  // Size of the contents, according to the archive.
};

// The members in the order of the central directory. Errors: kDataLoss for an archive that was cut
// off; kInvalidArgument for bytes that are no archive or contradict themselves: names given twice,
// members that overlap or expand to more than kMaxZipBytes together; kUnimplemented for zip64,
// encryption and other compression methods.
absl::StatusOr<std::vector<ZipMember>> ListZipMembers(absl::string_view archive);

// The contents, whose size and checksum match the archive. They are a part of the archive, or of
// `*expanded` if they had to be inflated. Errors: kDataLoss for damaged contents.
absl::StatusOr<absl::string_view> ZipContents(const ZipMember& member, std::string* expanded);

// Writes an archive of stored members. The same members give the same bytes: all of them are dated
// 1 January 1980, the first day that the format has.
class ZipWriter {
 public:
  explicit ZipWriter(ByteSink sink) : sink_(std::move(sink)) {}

  // Adds a member whose contents are `pieces` one after another. kUnimplemented if the archive
  // would be larger than kMaxZipBytes or have more than 65534 members; kInvalidArgument for an
  // empty name, one over 65535 bytes, or one with a zero byte; the errors of the sink. REQUIRES:
  // the name is new.
  absl::Status Add(absl::string_view name, absl::Span<const absl::string_view> pieces);

  // REQUIRES: called once, and last.
  absl::Status Finish();

 private:
  ByteSink sink_;
  uint64_t position_ = 0;
  uint32_t members_ = 0;
  std::string directory_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_ZIP_ARCHIVE_H_
