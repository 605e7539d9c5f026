#include "runtime/checksum.h"

#include <zlib.h>

namespace fixpoint {

void Checksum::Add(absl::Span<const uint8_t> bytes) {
  // Null bytes would ask zlib for the initial value.
  if (bytes.empty()) return;
  crc_ = static_cast<uint32_t>(crc32_z(crc_, bytes.data(), bytes.size()));
  length_ += bytes.size();
}

uint64_t ChecksumOf(std::initializer_list<absl::Span<const uint8_t>> pieces) {
  Checksum checksum;
  for (const absl::Span<const uint8_t> piece : pieces) checksum.Add(piece);
  return checksum.value();
}

}  // namespace fixpoint
