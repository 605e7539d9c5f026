// Checks that the messages of a program have their required fields, and reports the place of a
// missing one.

#ifndef FIXPOINT_PROTO_WIRE_REQUIRED_FIELDS_H_
#define FIXPOINT_PROTO_WIRE_REQUIRED_FIELDS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// OK, or kInvalidArgument for the first required field that is missing:
// "file_name: block 0, op 17 (conv2d), attribute 2 (axis): type is missing; ...". An enumerator
// that the schema does not know leaves its field missing too; the message has its value.
absl::Status CheckRequiredFields(const ProgramDesc& program, absl::string_view file_name);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_WIRE_REQUIRED_FIELDS_H_
