// The networks of the reference data that train.

#ifndef FIXPOINT_TESTS_RUNTIME_REFERENCE_REFERENCE_NETWORK_H_
#define FIXPOINT_TESTS_RUNTIME_REFERENCE_REFERENCE_NETWORK_H_

#include <string>

#include "proto/program/program.h"

namespace fixpoint::reference {

struct ReferenceNetwork {
  Program startup;
  Program main;
  std::string loss;  // the variable whose gradient the backward pass begins with
};

// The network of models/generated, `name` without "-train_main" ("paddle262/lenet-adam").
// `quantized` is how the reference's own transpiler has quantized it, the end of the file's name;
// "": not at all.
ReferenceNetwork LoadReferenceNetwork(const std::string& name, const std::string& quantized = "");

}  // namespace fixpoint::reference

#endif  // FIXPOINT_TESTS_RUNTIME_REFERENCE_REFERENCE_NETWORK_H_
