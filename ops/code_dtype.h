// How tensors hold codes: those of a byte as INT8, or unsigned ones as UINT8.

#ifndef FIXPOINT_OPS_CODE_DTYPE_H_
#define FIXPOINT_OPS_CODE_DTYPE_H_

#include "ops/code_range.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

constexpr VarType::Type CodeDtype(bool is_unsigned) {
  return is_unsigned ? VarType::UINT8 : VarType::INT8;
}

// The type for codes of a weight. REQUIRES: those that no byte holds are signed.
constexpr VarType::Type CodeDtype(const CodeRange& codes) {
  return FitByte(codes) ? CodeDtype(codes.is_unsigned) : VarType::INT16;
}

// Of codes of a byte.
constexpr bool IsCodeDtype(VarType::Type dtype) {
  return dtype == VarType::INT8 || dtype == VarType::UINT8;
}

constexpr bool IsUnsignedDtype(VarType::Type dtype) { return dtype == VarType::UINT8; }

// All codes of the type. REQUIRES: IsCodeDtype(dtype).
constexpr CodeRange CodesOfDtype(VarType::Type dtype) {
  return CodesOfByte(IsUnsignedDtype(dtype));
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODE_DTYPE_H_
