// Whether a program is the one that an edit log speaks of.

#ifndef FIXPOINT_PROTO_FINGERPRINT_H_
#define FIXPOINT_PROTO_FINGERPRINT_H_

#include <cstdint>

#include "proto/program.pb.h"

namespace fixpoint {

// A checksum of what an edit log speaks of: the blocks, the types, slots, arguments and attribute
// names of their ops, and the names of their variables, in order. It guards against accident, not
// against malice. What an attribute holds is no part of it: a log can be undone all the same.
uint64_t Fingerprint(const ProgramDesc& program);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FINGERPRINT_H_
