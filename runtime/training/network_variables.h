// The variables by which a program takes a batch and gives its results.

#ifndef FIXPOINT_RUNTIME_TRAINING_NETWORK_VARIABLES_H_
#define FIXPOINT_RUNTIME_TRAINING_NETWORK_VARIABLES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

struct NetworkVariables {
  std::string images;  // fed: FP32 [N, ...]; "": the program takes none
  std::string labels;  // fed: INT64 [N,1]; "": the program takes none
  std::string loss;    // a scalar; "": the program has none
  std::string scores;  // [N,classes], the largest of which is the answer; "": not known
  std::vector<std::string> metrics = {};  // numbers that measure a batch besides: [] or [1]
};

// What the program is to be fed: images with their labels; or anything, by the names of its
// variables.
enum class NetworkInputs { kImages, kAny };

// Fills in those that are "" from the program: images are the only fed variable of floats, labels
// the only one of integers. A program that is fed anything may have several of both, so there
// images stay as named, and labels are what a cross entropy reads as such. Errors
// (kInvalidArgument): a name is not declared; no variable, or more than one, could be fed images,
// or more than one labels.
absl::StatusOr<NetworkVariables> FindNetworkVariables(
    const Program& program, NetworkVariables named = {},
    NetworkInputs inputs = NetworkInputs::kImages);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_NETWORK_VARIABLES_H_
