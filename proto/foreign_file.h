// Files that are given for another by mistake, recognised by how they begin.

#ifndef FIXPOINT_PROTO_FOREIGN_FILE_H_
#define FIXPOINT_PROTO_FOREIGN_FILE_H_

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

// What bytes are by how they begin; four of them tell all but a tensor stream, which takes twelve.
FileFormat FormatOf(absl::string_view bytes);

// OK unless `bytes`, which are no text, are a known kind of file that is no program: then
// kInvalidArgument with what they are, and what to give instead.
absl::Status RefuseForeignBinary(absl::string_view bytes, absl::string_view file_name);

// The same for text; kUnimplemented for a program of PaddlePaddle 3 in JSON.
absl::Status RefuseForeignText(absl::string_view text, absl::string_view file_name);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FOREIGN_FILE_H_
