// How tensors hold codes: those of a byte as INT8, or unsigned ones as UINT8; signed ones of more
// bits, which are called wide, as INT16.

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

// Of wide codes.
constexpr bool IsWideCodeDtype(VarType::Type dtype) { return dtype == VarType::INT16; }

constexpr bool IsUnsignedDtype(VarType::Type dtype) { return dtype == VarType::UINT8; }

// All codes of the type. REQUIRES: it is one of codes.
constexpr CodeRange CodesOfDtype(VarType::Type dtype) {
  if (IsWideCodeDtype(dtype)) {
    return AffineCodes(kMostBits, /*is_unsigned=*/false, QuantSpec::HALF_TO_EVEN);
  }
  return CodesOfByte(IsUnsignedDtype(dtype));
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODE_DTYPE_H_
