// Files that are given for a program by mistake, recognised by how they begin.

#ifndef FIXPOINT_PROTO_FOREIGN_FILE_H_
#define FIXPOINT_PROTO_FOREIGN_FILE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// OK unless `bytes`, which are no text, are a known kind of file that is no program: then
// kInvalidArgument with what they are, and what to give instead.
absl::Status RefuseForeignBinary(absl::string_view bytes, absl::string_view file_name);

// The same for text; kUnimplemented for a program of PaddlePaddle 3 in JSON.
absl::Status RefuseForeignText(absl::string_view text, absl::string_view file_name);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FOREIGN_FILE_H_
