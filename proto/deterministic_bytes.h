// Serialized messages that are the same for the same message, maps too.

#ifndef FIXPOINT_PROTO_DETERMINISTIC_BYTES_H_
#define FIXPOINT_PROTO_DETERMINISTIC_BYTES_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <string>

namespace fixpoint {

// `message` on the wire, maps in the order of their keys. Required fields may be missing, and
// strings, names of variables above all, need not be UTF-8.
std::string DeterministicBytes(const google::protobuf::Message& message);

// The same for who has asked for the size. REQUIRES: `size` is what message.ByteSizeLong() said
// since the message was last changed, and at most 2^31 - 1.
std::string DeterministicBytes(const google::protobuf::Message& message, size_t size);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_DETERMINISTIC_BYTES_H_
