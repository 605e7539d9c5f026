// The attributes of functions of one element.

#ifndef FIXPOINT_TESTS_RANDOM_GENERATORS_ACTIVATION_H_
#define FIXPOINT_TESTS_RANDOM_GENERATORS_ACTIVATION_H_

#include <string>

#include "tests/random/random_case.h"

namespace fixpoint::random_cases {

// As text: "alpha=0.02". Some are left out, and numbers are near their defaults. REQUIRES: an op
// type of ActivationTypes() (ops/activation.h).
std::string SomeAttributes(CaseMaker& c, const std::string& activation);

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_GENERATORS_ACTIVATION_H_
