// What `infer` reads beside programs.

#ifndef FIXPOINT_TOOLS_INFERENCE_INPUTS_H_
#define FIXPOINT_TOOLS_INFERENCE_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint {

// A variable, and the .npy file that it is read from or written to.
struct NamedFile {
  std::string name;
  std::string file;
};

// The parameters of the program in the file `path`, from a file or a folder; none where it has
// none. `flag` is what names them: "params". Errors: (of usage) `params` is "" and the program has
// parameters; those of LoadParameters.
absl::StatusOr<Scope> LoadScope(const Program& program, const std::string& path,
                                absl::string_view flag, const std::string& params);

// Error (of usage): `feeds` has no array of a variable that the program in the file `path` is fed
// and the fetches are computed of, or, with `runs_all` ops, that an op reads; the first.
absl::Status CheckFeeds(const Program& program, const std::string& path,
                        const std::vector<NamedFile>& feeds,
                        const std::vector<std::string>& fetches, bool runs_all);

// The array that a program is fed. Errors: those of LoadNpy; its type or its number of dimensions
// is not what the program declares of the variable.
absl::StatusOr<Tensor> LoadFeed(const NamedFile& feed, const Variable& variable);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_INFERENCE_INPUTS_H_
