// Where bytes that should be a serialized program stop being one.

#ifndef FIXPOINT_PROTO_WIRE_WIRE_DAMAGE_H_
#define FIXPOINT_PROTO_WIRE_WIRE_DAMAGE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// The error for `bytes`, which protobuf could not parse as a ProgramDesc: kDataLoss if the file is
// truncated, else kInvalidArgument, with the place: "file_name: block 0, op 17: the file ends
// here, 1200 bytes early; it is truncated". The work is linear in the bytes.
absl::Status DescribeWireDamage(absl::string_view bytes, absl::string_view file_name);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_WIRE_WIRE_DAMAGE_H_
