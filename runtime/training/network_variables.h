// The variables by which a program that classifies images takes a batch and gives its results.

#ifndef FIXPOINT_RUNTIME_TRAINING_NETWORK_VARIABLES_H_
#define FIXPOINT_RUNTIME_TRAINING_NETWORK_VARIABLES_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

struct NetworkVariables {
  std::string images;  // fed: FP32 [N, ...]
  std::string labels;  // fed: INT64 [N,1]; "": the program takes none
  std::string loss;    // a scalar; "": the program has none
  std::string scores;  // [N,classes], the largest of which is the answer; "": not known
};

// Fills in those that are "" from the program:
absl::StatusOr<NetworkVariables> FindNetworkVariables(const Program& program,
                                                      NetworkVariables named = {});

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_NETWORK_VARIABLES_H_
