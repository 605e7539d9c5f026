// Serializes equal messages to equal bytes, maps included.

#ifndef FIXPOINT_PROTO_WIRE_DETERMINISTIC_BYTES_H_
#define FIXPOINT_PROTO_WIRE_DETERMINISTIC_BYTES_H_

#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/message.h>

#include <string>

namespace fixpoint {

// Serializes `message`, with maps in the order of their keys. Required fields may be missing, and
// strings, names of variables above all, need not be UTF-8.
std::string DeterministicBytes(const google::protobuf::Message& message);

// Writes the same to a stream. REQUIRES: message.ByteSizeLong() was called since the message was
// last changed, and is at most 2^31 - 1.
void WriteDeterministically(const google::protobuf::Message& message,
                            google::protobuf::io::ZeroCopyOutputStream* stream);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_WIRE_DETERMINISTIC_BYTES_H_
