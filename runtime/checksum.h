// A checksum by which a program or a data set is recognised. It guards against accident, not
// against malice.

#ifndef FIXPOINT_RUNTIME_CHECKSUM_H_
#define FIXPOINT_RUNTIME_CHECKSUM_H_

#include <cstdint>
#include <initializer_list>

#include "absl/types/span.h"

namespace fixpoint {

// CRC-32 of the pieces one after another, with their length above it. It is stored in checkpoints.
uint64_t ChecksumOf(std::initializer_list<absl::Span<const uint8_t>> pieces);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_CHECKSUM_H_
