// A checksum by which a program or a data set is recognised. It guards against accident, not
// against malice.

#ifndef FIXPOINT_RUNTIME_CHECKSUM_H_
#define FIXPOINT_RUNTIME_CHECKSUM_H_

#include <cstdint>
#include <initializer_list>

#include "absl/types/span.h"

namespace fixpoint {

class Checksum {
 public:
  void Add(absl::Span<const uint8_t> bytes);

  // CRC-32 of all bytes that were added, with their number above it. It is stored in checkpoints.
  uint64_t value() const { return length_ << 32 ^ crc_; }

 private:
  uint64_t length_ = 0;
  uint32_t crc_ = 0;
};

// The checksum of pieces one after another.
uint64_t ChecksumOf(std::initializer_list<absl::Span<const uint8_t>> pieces);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_CHECKSUM_H_
