// What `infer` reads besides programs.

#ifndef FIXPOINT_TOOLS_INFERENCE_INPUTS_H_
#define FIXPOINT_TOOLS_INFERENCE_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "runtime/data/data_source.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "runtime/training/network_variables.h"

namespace fixpoint {

// A variable, and the .npy file to read it from or write it to.
struct NamedFile {
  std::string name;
  std::string file;
};

// The parameters of the program in the file `path`, from a file or a folder; none if it has none.
// `flag` is the flag that names them: "params". Errors: a usage error if `params` is "" and the
// program has parameters; those of LoadParameters.
absl::StatusOr<Scope> LoadScope(const Program& program, const std::string& path,
                                absl::string_view flag, const std::string& params);

// A usage error for the first input of the program in the file `path` that `feeds` has no array
// for, although the fetches are computed from it or, with `runs_all`, an op reads it.
absl::Status CheckFeeds(const Program& program, const std::string& path,
                        const std::vector<NamedFile>& feeds,
                        const std::vector<std::string>& fetches, bool runs_all);

// Loads an input array. Errors: those of LoadNpy; its type or its number of dimensions is not what
// the program declares for the variable.
absl::StatusOr<Tensor> LoadFeed(const NamedFile& feed, const Variable& variable);

// The first samples of some data, by the variables that they are fed to.
struct FirstBatch {
  Scope values;
  int64_t samples = 0;
};

// As many samples as a batch has, or as there are. Errors: those of OpenData, FedBatches and
// Batcher.
absl::StatusOr<FirstBatch> FirstBatchOf(const DataSource& data, const Program& program,
                                        const std::string& path, const NetworkVariables& variables,
                                        int64_t batch_size);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_INFERENCE_INPUTS_H_
