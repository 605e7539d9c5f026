// The hidden state of a recurrent op as codes. Where its attribute says so, an op rounds the state
// to codes wherever it multiplies it by weights, of which the largest stands for 1; what else reads
// the state, and the op's results, are not rounded. The gradient is the identity.

#ifndef FIXPOINT_OPS_STATE_CODES_H_
#define FIXPOINT_OPS_STATE_CODES_H_

#include <cstdint>

#include "ops/quant_math.h"

namespace fixpoint {

// INT: the bits of the codes, with a sign; 0: the state is not rounded.
inline constexpr char kStateBitsAttr[] = "state_bits";
inline constexpr int kFewestStateBits = 2;
inline constexpr int kMostStateBits = 16;

// The largest code stands for this.
inline constexpr float kStateRange = 1;

// The code of x, from -largest to largest, rounded half to even; 0 for a NaN.
inline float StateCode(float x, float largest) {
  float code = x * largest;
  code = code == code ? code : 0.0f;
  code = code > -largest ? code : -largest;
  code = code < largest ? code : largest;
  // A float of this size has no digits after the point.
  constexpr float kIntegers = 12582912.0f;
  return (code + kIntegers) - kIntegers;
}
inline float RoundedState(float x, int32_t largest) {
  return DequantizeOne(StateCode(x, static_cast<float>(largest)), kStateRange, largest);
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_STATE_CODES_H_
