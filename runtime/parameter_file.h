// The parameters of a program in the reference's two forms: a folder with one file per variable,
// or one combined file. docs/parameter_files.md describes both.

#ifndef FIXPOINT_RUNTIME_PARAMETER_FILE_H_
#define FIXPOINT_RUNTIME_PARAMETER_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/file/atomic_file.h"
#include "proto/wire/program.pb.h"
#include "runtime/scope.h"
#include "runtime/staged_directory.h"

namespace fixpoint {

// What a program declares of one parameter.
struct ParameterInfo {
  std::string name;
  VarType::Type kind;  // LOD_TENSOR or SELECTED_ROWS; no other kind has a file form.
  VarType::Type dtype;
  std::vector<int64_t> dims;  // -1 is any extent; none at all is any shape.
};

// The persistable variables of every block, except FEED_MINIBATCH, FETCH_LIST, READER and RAW, in
// ascending byte-wise order of the names, which is the order of a combined file. A name that
// several blocks declare is one parameter, as its first block declares it.
std::vector<ParameterInfo> ParametersOf(const ProgramDesc& program);

// Reads all parameters of the program from a folder or from a combined file, whichever `path` is.
// Dims have to agree with the program; the element type is the file's, whatever the program
// declares, as in the reference (weights of a frozen program are declared FP32 and stored INT8).
// Other files of a folder are not looked at. No memory is allocated for missing data.
//
// Errors start with the file, the variable and the byte:
//   kNotFound         a file is missing
//   kDataLoss         a file ends too early
//   kInvalidArgument  a file is malformed, of another format (a pickle), or is one of another list
//   of
//                     parameters: other dims, or bytes after the last
//   kUnimplemented    a variable that has no file form
absl::StatusOr<Scope> LoadParameters(const ProgramDesc& program, const std::string& path);

// Reads those of the program's parameters that a folder has a file for, at least one: a float
// program's parameters have no ranges for the quantizers that were added since. Errors as above.
absl::StatusOr<Scope> LoadParametersThatAreThere(const ProgramDesc& program,
                                                 const std::string& directory);

// Whether StageSeparateParameters would accept the program's parameters, as far as the scope has
// them: their names, their kinds and dims, and whether their files can be in the folder
// `directory`, which need not exist. Errors: as there.
absl::Status CheckSeparateParameters(const ProgramDesc& program, const Scope& scope,
                                     const std::string& directory);

// Writes the program's parameters except for the final rename; other contents of the scope are left
// out. The file is replaced whole or stays as it was (AtomicFile). kFailedPrecondition if the scope
// lacks a parameter or holds it in other dims or kind, kUnimplemented for selected rows, which the
// reference's combined files do not hold, kUnavailable if the file cannot be written.
absl::StatusOr<AtomicFile> StageCombinedParameters(const ProgramDesc& program, const Scope& scope,
                                                   const std::string& file);

// The same as a file of a folder that is staged.
absl::Status WriteCombinedParameters(const ProgramDesc& program, const Scope& scope,
                                     const std::string& name, StagedDirectory* folder);

// Likewise one file for each of the program's parameters; slashes of a name are sub-folders. All
// files are written and synced before the first takes its place, and other files of the folder
// stay; StagedDirectory says what a crash leaves. Errors as above, and kFailedPrecondition for a
// name that cannot be a file: "../x", "a//b", "__model__", or "a" beside "a/b".
absl::StatusOr<StagedDirectory> StageSeparateParameters(const ProgramDesc& program,
                                                        const Scope& scope,
                                                        const std::string& directory);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_PARAMETER_FILE_H_
