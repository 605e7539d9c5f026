// The data, inputs and outputs of a program, where a command line leaves them open.

#ifndef FIXPOINT_TOOLS_NETWORK_ENDS_H_
#define FIXPOINT_TOOLS_NETWORK_ENDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "runtime/data/data_source.h"
#include "runtime/data/sample_set.h"
#include "runtime/training/network_variables.h"

namespace fixpoint {

// The input and output variables.
struct NetworkEnds {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

// The variables that flags name, and those that the program in the file `path` declares. Errors: a
// usage error if a flag names one that does not exist; those of FindNetworkVariables.
absl::StatusOr<NetworkVariables> FindVariablesForFlags(
    const Program& program, const std::string& path, const NetworkVariables& named,
    NetworkInputs inputs = NetworkInputs::kImages);

// The data that a flag names, "data" or another. Usage errors: those of ParseDataSource.
absl::StatusOr<DataSource> DataOfFlag(absl::string_view flag, const std::string& data);

// Opens data as OpenSamples does, and prints what is to be told of them to standard error.
absl::StatusOr<std::unique_ptr<SampleSet>> OpenData(const DataSource& source, DataPart part);

// What a program is fed with samples of a source.
NetworkInputs InputsOf(const DataSource& source);

// Error (kInvalidArgument): the program in the file `path` feeds or fetches a variable that no
// block declares.
absl::Status CheckEndsAreDeclared(const Program& program, const std::string& path);

// The variables that a program is fed and from which `outputs` are computed; with `runs_all`, those
// that any op reads.
std::vector<const Variable*> NeededInputs(const Program& program,
                                          const std::vector<std::string>& outputs, bool runs_all);

// The outputs of the program in the file `path`, and the inputs that they are computed from. The
// outputs are `fetches`; if that is empty, what the program fetches; if it fetches nothing, the
// scores. A usage error if there are none, which `flag` would name ("--scores=NAME"), or if a flag
// names a variable that does not exist.
absl::StatusOr<NetworkEnds> FindNetworkEnds(const Program& program, const std::string& path,
                                            const std::vector<std::string>& fetches,
                                            const NetworkVariables& named, absl::string_view flag);

// The extents of an input as the program declares it, with the batch for the first if that is open.
// A usage error if other extents are open, which `flag` would give: "--feeds=x=FILE.npy".
absl::StatusOr<std::vector<int64_t>> FedDims(const Variable& variable, int64_t batch_size,
                                             absl::string_view flag);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_NETWORK_ENDS_H_
