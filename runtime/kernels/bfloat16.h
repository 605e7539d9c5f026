// bfloat16: the upper half of a float, so 8 bits of a number and the exponents of a float. Integers
// up to 256 are exact in it, and so are codes of 8 bits.

#ifndef FIXPOINT_RUNTIME_KERNELS_BFLOAT16_H_
#define FIXPOINT_RUNTIME_KERNELS_BFLOAT16_H_

#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {

enum class Bfloat16 : uint16_t {};

// Whether there are instructions that add products of bfloat16 in floats (AVX512_BF16), as far as
// oneDNN is allowed to use them. They take numbers below 2^-126 for 0.
bool HasBfloat16Products();
// Error (kFailedPrecondition): there are none.
absl::Status CheckBfloat16Products();

// Rounded half to even; a NaN stays one.
inline Bfloat16 ToBfloat16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const uint32_t upper = bits >> 16;
  const uint32_t rounded = (bits + 0x7fff + (upper & 1)) >> 16;
  return static_cast<Bfloat16>(x == x ? rounded : upper | 0x40);
}

void RoundToBfloat16(absl::Span<const float> x, absl::Span<Bfloat16> rounded);
// The same of lines of x, each element times the factor of its place in the line. REQUIRES: lines
// as long as `factors`.
void RoundToBfloat16(absl::Span<const float> x, absl::Span<const float> factors,
                     absl::Span<Bfloat16> rounded);

// code - zero_point, exactly. REQUIRES: the zero point is a code of the type.
template <typename Code>
void CodesToBfloat16(absl::Span<const Code> codes, int32_t zero_point,
                     absl::Span<Bfloat16> numbers);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_BFLOAT16_H_
