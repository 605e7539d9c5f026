// How tensors hold the codes of a byte: as INT8, or unsigned ones as UINT8.

#ifndef FIXPOINT_OPS_CODE_DTYPE_H_
#define FIXPOINT_OPS_CODE_DTYPE_H_

#include "ops/code_range.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

constexpr VarType::Type CodeDtype(bool is_unsigned) {
  return is_unsigned ? VarType::UINT8 : VarType::INT8;
}

constexpr bool IsCodeDtype(VarType::Type dtype) {
  return dtype == VarType::INT8 || dtype == VarType::UINT8;
}

// All codes of the type. REQUIRES: IsCodeDtype(dtype).
constexpr CodeRange CodesOfDtype(VarType::Type dtype) {
  return CodesOfByte(dtype == VarType::UINT8);
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODE_DTYPE_H_
