// How the codes of an activation are stored, and what they stand for.

#ifndef FIXPOINT_TRANSPILER_LOWER_CODE_TYPE_H_
#define FIXPOINT_TRANSPILER_LOWER_CODE_TYPE_H_

#include <cstdint>
#include <limits>

#include "ops/code_range.h"
#include "ops/quant_math.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

struct CodeType {
  VarType::Type dtype = VarType::INT8;  // or UINT8, or INT16
  float range = 0;                      // what largest_code codes above the zero point stand for
  int32_t largest_code = LargestCode(8);
  int32_t zero_point = 0;

  // Whether equal codes stand for equal floats.
  friend bool operator==(const CodeType& a, const CodeType& b) {
    return a.dtype == b.dtype && a.range == b.range && a.largest_code == b.largest_code &&
           a.zero_point == b.zero_point;
  }
  friend bool operator!=(const CodeType& a, const CodeType& b) { return !(a == b); }
};

// The multiplier of a symmetric quantizer, which multiplies, rounds and then clips codes, so that
// its codes are those of QuantizeOne (ops/quant_math.h). Rounding away from zero clips values
// instead, and where the range is tiny, the clipped values have the code 0.
inline float MultiplierOfCodes(float range, int32_t largest_code, QuantSpec::Rounding rounding) {
  const float multiplier = static_cast<float>(largest_code) * InverseRange(range);
  const bool is_zero = rounding == QuantSpec::HALF_AWAY_FROM_ZERO && multiplier * range < 0.5f;
  return is_zero ? std::numeric_limits<float>::min() : multiplier;
}

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_CODE_TYPE_H_
