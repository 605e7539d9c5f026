// Whether a program is the one that an edit log speaks of.

#ifndef FIXPOINT_PROTO_FINGERPRINT_H_
#define FIXPOINT_PROTO_FINGERPRINT_H_

#include <cstdint>

#include "proto/program.pb.h"

namespace fixpoint {

// A checksum of what an edit log speaks of: how many ops and variables the blocks have, the types,
// slots and arguments of the ops at its places, and the names of the variables at its places. What
// it does not speak of may change: an undo keeps that. Attributes are no part of it, since a log
// names those that were changed itself. It guards against accident, not against malice.
uint64_t Fingerprint(const ProgramDesc& program, const EditLog& log);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FINGERPRINT_H_
