// Programs as files: read in any form, and written whole or not at all.

#ifndef FIXPOINT_PROTO_FILE_PROGRAM_FILE_H_
#define FIXPOINT_PROTO_FILE_PROGRAM_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/file/atomic_file.h"
#include "proto/wire/program.pb.h"
#include "proto/wire/program_message.h"

namespace fixpoint {

enum class ProgramFormat {
  kBinary,        // protobuf's wire format: the reference's own, `__model__` or `.pdmodel`
  kText,          // proto/text/program_text.h
  kProtobufText,  // protobuf's text format
};

struct LoadedProgram {
  ProgramMessage program;
  ProgramFormat format = ProgramFormat::kBinary;
  bool gzipped = false;
  bool converted = false;  // from the layout before February 2018 (proto/wire/legacy_layout.h)
};

struct ProgramFileLimits {
  // The largest size to which a gzipped file may expand, in addition to the limit of
  // MostExpandedBytes (gzip.h): a thousand times the largest known program, and still small enough
  // for any machine.
  size_t max_expanded_bytes = size_t{1} << 29;
};

// The program in the file at `path`, or in standard input for "-". Its form is detected from its
// content, not from its name. Every required field is there, and at least one block.
//
// Errors: kNotFound, kInvalidArgument or kDataLoss for a file that is missing, malformed, cut off,
// of more than 2 GiB, or something else (a parameter file, a pickle, JSON); kUnimplemented for a
// program of PaddlePaddle 3 in its own format.
absl::StatusOr<LoadedProgram> LoadProgram(const std::string& path,
                                          const ProgramFileLimits& limits = {});

// The same for bytes; messages call them `name`.
absl::StatusOr<LoadedProgram> ParseProgramBytes(absl::string_view bytes, absl::string_view name,
                                                const ProgramFileLimits& limits = {});

// Writes `program` to the sink; the same program always gives the same bytes. Messages call the
// file `name`. REQUIRES: every required field is there, as in a Program. Errors: those of the sink,
// and kFailedPrecondition as for SaveProgram.
absl::Status WriteProgram(const ProgramDesc& program, ProgramFormat format, const std::string& name,
                          const ByteSink& sink);

// Writes `program` to `path` (atomic_file.h), or to standard output for "-".
//
// Errors: kUnavailable if the file cannot be written; kInvalidArgument for a missing required
// field; kFailedPrecondition for a program that is too large for protobuf, or that protobuf's text
// format cannot express (unknown fields, NaN bits).
absl::Status SaveProgram(const ProgramDesc& program, ProgramFormat format, const std::string& path);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FILE_PROGRAM_FILE_H_
