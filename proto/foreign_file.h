// Files that are given for a program by mistake, recognised by how they begin.

#ifndef FIXPOINT_PROTO_FOREIGN_FILE_H_
#define FIXPOINT_PROTO_FOREIGN_FILE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// OK unless `bytes` are a known kind of file that is no program: then what they are, and what to
// give instead. kUnimplemented for a program of PaddlePaddle 3 in JSON, else kInvalidArgument.
absl::Status RefuseForeignFile(absl::string_view bytes, absl::string_view file_name);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FOREIGN_FILE_H_
