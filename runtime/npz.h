// Several tensors by name in one file, as NumPy stores them (.npz): a zip archive with a member
// "<name>.npy" for each (runtime/npy.h).

#ifndef FIXPOINT_RUNTIME_NPZ_H_
#define FIXPOINT_RUNTIME_NPZ_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/file/atomic_file.h"
#include "runtime/scope.h"

namespace fixpoint {

// The tensors of an archive, of numpy.savez or numpy.savez_compressed. Errors: as ListZipMembers,
// ZipContents and ReadNpy, with the name of the member, and kInvalidArgument for a member that is
// no .npy; of them all, the name of the file first. kFailedPrecondition, here and below: there is
// no memory.
absl::StatusOr<Scope> ParseNpz(absl::string_view bytes, absl::string_view file_name);

// The same for the file at `path`, "-" for standard input. Errors: also kNotFound. The whole file
// is in memory meanwhile; it has at most kMaxZipBytes.
absl::StatusOr<Scope> LoadNpz(const std::string& path);

// Writes an archive of the scope's tensors, uncompressed and in the order of their names, to
// `sink`. Errors with the name of the variable: kUnimplemented for selected rows, for what
// NpyPreamble refuses and for 4 GiB or more; kInvalidArgument for a name that a member cannot have.
// Errors of the sink are passed on; they have other codes.
absl::Status WriteNpz(const Scope& scope, const ByteSink& sink);

// Writes the same to a file, except for the final rename. Errors as above, with the name of the
// file; kUnavailable where it cannot be written.
absl::StatusOr<AtomicFile> StageNpz(const Scope& scope, const std::string& path);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_NPZ_H_
