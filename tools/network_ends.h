// What a program of inference is fed and computes, where a command line leaves it open.

#ifndef FIXPOINT_TOOLS_NETWORK_ENDS_H_
#define FIXPOINT_TOOLS_NETWORK_ENDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program.h"
#include "runtime/training/network_variables.h"

namespace fixpoint {

// Variables.
struct NetworkEnds {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

// The variables that flags name, and those that the program in the file `path` says. Errors: (of
// usage) a flag names one that there is not; those of FindNetworkVariables.
absl::StatusOr<NetworkVariables> FindVariablesForFlags(const Program& program,
                                                       const std::string& path,
                                                       const NetworkVariables& named);

// Error (kInvalidArgument): the program in the file `path` is fed or fetches a variable that no
// block declares.
absl::Status CheckEndsAreDeclared(const Program& program, const std::string& path);

// What a program is fed and fetches.
NetworkEnds DeclaredEnds(const Program& program);

// The same of the program in the file `path`; of one that fetches nothing, the images and the
// scores. Errors: (of usage) there are no scores, which `flag` names: "--scores=NAME"; those of
// FindNetworkVariables.
absl::StatusOr<NetworkEnds> FindNetworkEnds(const Program& program, const std::string& path,
                                            const NetworkVariables& named, absl::string_view flag);

// The extents of what is fed as the program declares it, with the batch for the first where that is
// open. Error (of usage): there are others that the program does not say, which `flag` would:
// "--feeds=x=FILE.npy".
absl::StatusOr<std::vector<int64_t>> FedDims(const Variable& variable, int64_t batch_size,
                                             absl::string_view flag);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_NETWORK_ENDS_H_
