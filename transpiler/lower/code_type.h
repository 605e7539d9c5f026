// How the codes of an activation are stored, and what they stand for.

#ifndef FIXPOINT_TRANSPILER_LOWER_CODE_TYPE_H_
#define FIXPOINT_TRANSPILER_LOWER_CODE_TYPE_H_

#include <cstdint>

#include "proto/program.pb.h"

namespace fixpoint {

struct CodeType {
  VarType::Type dtype = VarType::INT8;  // or UINT8
  float range = 0;                      // what largest_code codes above the zero point stand for
  int32_t largest_code = 127;
  int32_t zero_point = 0;

  // Whether equal codes stand for equal floats.
  friend bool operator==(const CodeType& a, const CodeType& b) {
    return a.dtype == b.dtype && a.range == b.range && a.largest_code == b.largest_code &&
           a.zero_point == b.zero_point;
  }
  friend bool operator!=(const CodeType& a, const CodeType& b) { return !(a == b); }
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_CODE_TYPE_H_
