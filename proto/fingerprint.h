// Whether a program is the one that an edit log speaks of.

#ifndef FIXPOINT_PROTO_FINGERPRINT_H_
#define FIXPOINT_PROTO_FINGERPRINT_H_

#include <cstdint>

#include "proto/program.pb.h"

namespace fixpoint {

// A checksum of what an edit log speaks of: the blocks, the types, slots and arguments of their
// ops, and the names of their variables, in order. It guards against accident, not against malice.
// Attributes are no part of it: a log names those that were changed itself.
uint64_t Fingerprint(const ProgramDesc& program);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FINGERPRINT_H_
