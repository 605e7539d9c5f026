// A small random network of floats: convolutions and products, what stands after them, and what
// moves values between them.

#ifndef FIXPOINT_TESTS_RANDOM_PROGRAMS_NETWORK_H_
#define FIXPOINT_TESTS_RANDOM_PROGRAMS_NETWORK_H_

#include <string>
#include <vector>

#include "ops/dims.h"
#include "tests/random/random_case.h"

namespace fixpoint::random_cases {

// What a network is fed, and what is fetched beside the values that none of its ops reads. Its ops
// and parameters are those of the case that is made.
struct RandomNetwork {
  std::string fed;
  Dims fed_dims;  // [N,C,H,W], [N,T,C] or [N,C]
  std::vector<std::string> fetches;
};

// `is_trained`: each op has a gradient, and batch norms are in training.
RandomNetwork DrawNetwork(CaseMaker& c, bool is_trained);

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_PROGRAMS_NETWORK_H_
