// Whether a program is the one that an edit log speaks of.

#ifndef FIXPOINT_PROTO_FINGERPRINT_H_
#define FIXPOINT_PROTO_FINGERPRINT_H_

#include <cstdint>

#include "proto/program.pb.h"

namespace fixpoint {

// A checksum of a serialized program: length and CRC-32. It guards against accident, not against
// malice. REQUIRES: the program has no edit log.
uint64_t Fingerprint(const ProgramDesc& program);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FINGERPRINT_H_
