// Many states as codes (ops/state_codes.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_STATE_ROUNDING_H_
#define FIXPOINT_RUNTIME_KERNELS_STATE_ROUNDING_H_

#include <cstdint>

namespace fixpoint::kernels {

// The codes of `size` states, of at most 8 bits, or 16.
void StateCodes(int bits, int64_t size, const float* states, int8_t* codes);
void StateCodes(int bits, int64_t size, const float* states, int16_t* codes);
// The floats that those stand for; `rounded` may be `states`.
void RoundStates(int bits, int64_t size, const float* states, float* rounded);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_STATE_ROUNDING_H_
