// A file of ranges in any form that a flag can name: a profile, or what another tool wrote.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_RANGE_FILE_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_RANGE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Tells the forms apart by how they begin: "{", NNI's calibration configuration; "TRT-", TensorRT's
// cache; "---", Glow's profile; a program in any form, PaddlePaddle's; anything else is a
// RangeProfile as protobuf text. Errors: those of
// their readers, which begin with the file's name; kInvalidArgument: a form that names layers needs
// a `program`, which may be null.
absl::StatusOr<RangeProfile> ParseRanges(absl::string_view text, absl::string_view name,
                                         const Program* program);
// The same of a file, or of standard input for "-". Errors also: those of ReadInputFile.
absl::StatusOr<RangeProfile> LoadRanges(const std::string& path, const Program* program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_RANGE_FILE_H_
