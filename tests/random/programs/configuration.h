// A random target and configuration to quantize a network by.

#ifndef FIXPOINT_TESTS_RANDOM_PROGRAMS_CONFIGURATION_H_
#define FIXPOINT_TESTS_RANDOM_PROGRAMS_CONFIGURATION_H_

#include "proto/config/quant_config.pb.h"
#include "proto/config/target.pb.h"
#include "tests/random/random_case.h"

namespace fixpoint::random_cases {

struct RandomConfiguration {
  Target target;
  QuantConfig config;
};

// A target that is built in; that of oneDNN with both roundings, and with biases in int32 or not.
// `is_trained`: ranges may be learned.
RandomConfiguration DrawConfiguration(CaseMaker& c, bool is_trained);

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_PROGRAMS_CONFIGURATION_H_
