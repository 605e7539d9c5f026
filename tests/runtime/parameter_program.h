// Programs that declare parameters and nothing else.

#ifndef FIXPOINT_TESTS_RUNTIME_PARAMETER_PROGRAM_H_
#define FIXPOINT_TESTS_RUNTIME_PARAMETER_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/wire/program.pb.h"

namespace fixpoint {

struct DeclaredParameter {
  std::string name;
  std::vector<int64_t> dims;
  VarType::Type kind = VarType::LOD_TENSOR;
};

// One block that declares each as persistable FP32, in the order given.
ProgramDesc ProgramWith(const std::vector<DeclaredParameter>& parameters);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_RUNTIME_PARAMETER_PROGRAM_H_
