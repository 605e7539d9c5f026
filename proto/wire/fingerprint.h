// Whether a program is the one that an edit log refers to.

#ifndef FIXPOINT_PROTO_WIRE_FINGERPRINT_H_
#define FIXPOINT_PROTO_WIRE_FINGERPRINT_H_

#include <cstdint>

#include "proto/wire/program.pb.h"

namespace fixpoint {

// A checksum of what an edit log refers to: the numbers of ops and variables in the blocks, the
// types, slots and arguments of the ops at its places, and the names of the variables at its
// places. Everything else may change: an undo keeps it. Attributes are not included, since a log
// itself names those that were changed. It guards against accident, not against malice.
uint64_t Fingerprint(const ProgramDesc& program, const EditLog& log);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_WIRE_FINGERPRINT_H_
