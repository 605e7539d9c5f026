// exp, log and functions built on them, in arithmetic that the compiler vectorises in a loop of
// vectorised.h, with the same bits for every instruction set.

#ifndef FIXPOINT_RUNTIME_KERNELS_VECTOR_MATH_H_
#define FIXPOINT_RUNTIME_KERNELS_VECTOR_MATH_H_

#include <cmath>
#include <cstdint>
#include <cstring>

namespace fixpoint::kernels {

inline float FloatOf(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

inline uint32_t BitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Rounds half away from zero: adds almost 0.5 away from zero, and truncates. With 0.5 itself, the
// float before 0.5 would become 1.
inline float RoundHalfAway(float x) {
  return __builtin_truncf(x + __builtin_copysignf(0.49999997f, x));
}

// 2^n for -126 <= n <= 127.
inline float PowerOfTwo(int32_t n) { return FloatOf(static_cast<uint32_t>(n + 127) << 23); }

// ln 2 in two parts, the first with so few bits that small integers times it have no error.
inline constexpr float kLn2High = 0.693359375f;
inline constexpr float kLn2Low = -2.12194440e-4f;

// x = n * ln 2 + r with |r| up to ln 2 / 2, and e^r - 1. REQUIRES: |x| < 2^20.
struct ReducedExp {
  explicit ReducedExp(float x) {
    const float rounded = __builtin_nearbyintf(x * 1.44269504f);
    const float r = (x - rounded * kLn2High) - rounded * kLn2Low;
    // (e^r - 1 - r) / r^2 at the Chebyshev points, to 2.2e-10.
    float p = 1.98909908e-4f;
    p = p * r + 1.39336500e-3f;
    p = p * r + 8.33331093e-3f;
    p = p * r + 4.16664649e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    n = static_cast<int32_t>(rounded);
    expm1 = r + (r * r) * p;
  }

  int32_t n;
  float expm1;
};

// Within 2 units in the last place; overflows to infinity, and underflows gradually.
inline float Exp(float x) {
  float inside = x > -105.0f ? x : -105.0f;  // a NaN too
  inside = inside < 90.0f ? inside : 90.0f;
  const ReducedExp reduced(inside);
  const int32_t half = reduced.n / 2;
  const float power = (1.0f + reduced.expm1) * PowerOfTwo(half) * PowerOfTwo(reduced.n - half);
  return x == x ? power : x;
}

// e^x for x from `least` to 0, with the bits of Exp, and e^least below it. REQUIRES: least >= -87.
inline float ExpOfNegative(float x, float least) {
  const ReducedExp reduced(x > least ? x : least);  // a NaN too
  const float power = (1.0f + reduced.expm1) * PowerOfTwo(reduced.n);
  return x == x ? power : x;
}

// e^x - 1 for x <= 0, within 3 units in the last place.
inline float Expm1OfNegative(float x) {
  const ReducedExp reduced(x > -87.0f ? x : -87.0f);
  const float power = PowerOfTwo(reduced.n);
  return x == x ? power * reduced.expm1 + (power - 1.0f) : x;
}

// Within 2 units in the last place.
inline float Log(float x) {
  const bool is_subnormal = x < 1.17549435e-38f;
  const uint32_t bits = BitsOf(is_subnormal ? x * 0x1p25f : x);
  // x = m * 2^n with m in [sqrt(1/2), sqrt(2)).
  constexpr uint32_t kRootOfHalf = 0x3f3504f3;
  const int32_t n = static_cast<int32_t>(bits - kRootOfHalf) >> 23;
  const float m = FloatOf(bits - (static_cast<uint32_t>(n) << 23));
  const float f = m - 1.0f;
  const float s = f / (2.0f + f);
  const float z = s * s;
  // log(1 + f) = f - f^2 / 2 + s * (f^2 / 2 + z * p), fitted to the series of 2 * artanh(s).
  float p = 0.233304671f;
  p = p * z + 0.285508208f;
  p = p * z + 0.400001218f;
  p = p * z + 0.666666666f;
  const float half_square = 0.5f * f * f;
  const float k = static_cast<float>(n - (is_subnormal ? 25 : 0));
  const float log = k * kLn2High - ((half_square - (s * (half_square + z * p) + k * kLn2Low)) - f);
  const float of_zero_or_less = x == 0.0f ? -INFINITY : NAN;
  const float of_more = x < INFINITY ? log : x;  // a NaN too
  return x <= 0.0f ? of_zero_or_less : of_more;
}

// log(1 + x) for 0 <= x <= 1, within 3 units in the last place.
inline float Log1pOfShare(float x) {
  const float y = 1.0f + x;
  return Log(y) + (x - (y - 1.0f)) / y;
}

inline float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }

inline float Tanh(float x) {
  const float e = Expm1OfNegative(-2.0f * __builtin_fabsf(x));
  return __builtin_copysignf(e / (2.0f + e), x);
}

// log(1 + e^x), which neither overflows nor loses small values.
inline float Softplus(float x) {
  return (x > 0.0f ? x : 0.0f) + Log1pOfShare(Exp(-__builtin_fabsf(x)));
}

// The share of the standard normal distribution that is below x. 1/2 / p(|x|)^8 is the share beyond
// |x|, as Hastings fits it (Abramowitz and Stegun, 7.1.28): a polynomial fitted to 4e-7 of it times
// 1 + x^2 up to |x| = 6, and to 1e-9 of 1 from there on.
inline float NormalBelow(float x) {
  const float z = __builtin_fabsf(x);
  float p = 2.40323392e-8f;
  p = p * z - 4.87898889e-7f;
  p = p * z + 4.73453453e-6f;
  p = p * z - 2.48957788e-5f;
  p = p * z + 8.77778831e-5f;
  p = p * z - 1.54320014e-4f;
  p = p * z + 4.94477843e-4f;
  p = p * z + 6.25951023e-4f;
  p = p * z + 8.77861548e-3f;
  p = p * z + 4.47394479e-2f;
  p = p * z + 9.97372827e-2f;
  p = p * z + 1.0f;
  p = p * p;
  p = p * p;
  const float beyond = 0.5f / (p * p);
  return x < 0.0f ? beyond : 1.0f - beyond;
}

inline float NormalDensity(float x) { return 0.398942280f * Exp(-0.5f * x * x); }

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_VECTOR_MATH_H_
