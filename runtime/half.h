// FP16 as its bits: IEEE 754 binary16.

#ifndef FIXPOINT_RUNTIME_HALF_H_
#define FIXPOINT_RUNTIME_HALF_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace fixpoint {

// Exact.
inline float FloatOfHalf(uint16_t bits) {
  const uint32_t sign = uint32_t{bits} >> 15 << 31;
  const uint32_t exponent = bits >> 10 & 0x1f;
  const uint32_t fraction = bits & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign == 0 ? magnitude : -magnitude;
  }
  const uint32_t widened = exponent == 0x1f ? 0x7f800000 : (exponent + 112) << 23;
  const uint32_t float_bits = sign | widened | fraction << 13;
  float value;
  std::memcpy(&value, &float_bits, sizeof(value));
  return value;
}

// The nearest, ties to even; infinity beyond the largest.
inline uint16_t HalfOfFloat(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  constexpr float kRoundsToInfinity = 65520;
  if (magnitude >= kRoundsToInfinity) return sign | 0x7c00;
  // In units of the last place: subnormal halves share that of the smallest normal ones.
  constexpr int kSmallestExponent = -14;
  const int exponent =
      magnitude == 0 ? kSmallestExponent : std::max(std::ilogb(magnitude), kSmallestExponent);
  const float units = std::ldexp(magnitude, 10 - exponent);
  float rounded = std::floor(units);
  const float rest = units - rounded;
  const bool is_odd = std::fmod(rounded, 2.0f) == 1.0f;
  if (rest > 0.5f || (rest == 0.5f && is_odd)) rounded += 1;
  // A mantissa of 2^11 carries into the exponent by itself; a normal one has its leading bit there.
  const int biased = exponent - kSmallestExponent;
  return static_cast<uint16_t>(sign + biased * 0x400 + static_cast<int>(rounded));
}

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_HALF_H_
