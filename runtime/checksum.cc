#include "runtime/checksum.h"

#include <zlib.h>

namespace fixpoint {

uint64_t ChecksumOf(std::initializer_list<absl::Span<const uint8_t>> pieces) {
  uint64_t length = 0;
  uLong crc = crc32_z(0, nullptr, 0);
  for (const absl::Span<const uint8_t> piece : pieces) {
    crc = crc32_z(crc, piece.data(), piece.size());
    length += piece.size();
  }
  return length << 32 ^ crc;
}

}  // namespace fixpoint
