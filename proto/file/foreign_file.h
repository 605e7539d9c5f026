// Files that are given by mistake, recognised by their first bytes.

#ifndef FIXPOINT_PROTO_FILE_FOREIGN_FILE_H_
#define FIXPOINT_PROTO_FILE_FOREIGN_FILE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

enum class FileFormat {
  kUnknown,
  kPickle,        // .pdparams, .pdopt
  kTensorStream,  // a parameter file
  kProgram,
  kZip,
  kGzip,
  kNumpy,  // .npy
};

// The kind of a file by its first bytes; four suffice for all but a tensor stream, which takes
// twelve.
FileFormat FormatOf(absl::string_view bytes);

// OK unless `bytes`, which are not text, are a known kind of file other than a program: then
// kInvalidArgument with what they are, and what to give instead.
absl::Status RefuseForeignBinary(absl::string_view bytes, absl::string_view file_name);

// The same for text; kUnimplemented for a program of PaddlePaddle 3 in JSON.
absl::Status RefuseForeignText(absl::string_view text, absl::string_view file_name);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FILE_FOREIGN_FILE_H_
