// A checksum of the parameters that a program ran with.

#ifndef FIXPOINT_RUNTIME_CALIBRATION_PARAMETERS_CHECKSUM_H_
#define FIXPOINT_RUNTIME_CALIBRATION_PARAMETERS_CHECKSUM_H_

#include <cstdint>

#include "proto/wire/program.pb.h"
#include "runtime/scope.h"

namespace fixpoint {

// Of the names, types, dimensions and elements of the tensors that the scope has for parameters of
// the program, in its order.
uint64_t ParametersChecksum(const ProgramDesc& program, const Scope& scope);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_CALIBRATION_PARAMETERS_CHECKSUM_H_
