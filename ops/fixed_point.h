// Requantization by a multiplier and a shift: from sums of products of codes, which are integers,
// to codes, without floats.
//
// With number = f * 2^e, f in [1/2, 1), the multiplier is M = round(f * 2^31), or, in 16 bits,
// M16 = (M + 2^15) >> 16, and a sum n becomes, by integers alone,
//
//   rounded once:   (n * M + 2^(30 - e)) >> (31 - e), or (n * M16 + 2^(14 - e)) >> (15 - e): ties
//                   upward;
//   rounded twice:  y = (n * 2^max(e, 0) * M + 2^30) >> 31, ties upward, and then y / 2^max(-e, 0),
//                   rounded, ties away from zero.
//
// Source: gemmlowp (Jacob et al. 2018, arXiv 1712.05877, section 2.2) and TensorFlow Lite, which
// rounds twice unless it is built with TFLITE_SINGLE_ROUNDING, and has multipliers of 16 bits for
// activations of 16 bits.

#ifndef FIXPOINT_OPS_FIXED_POINT_H_
#define FIXPOINT_OPS_FIXED_POINT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fixpoint {

// The magnitude at which sums saturate. FP32 holds them times a step closely enough for a division
// by the step to give them back, so that floats simulate the integers exactly.
constexpr int32_t kLargestRequantizedSum = int32_t{1} << 23;

// A number as integers: multiplier * 2^(exponent - 31).
struct FixedPointMultiplier {
  int32_t multiplier = 0;
  int exponent = 0;

  double number() const { return std::ldexp(multiplier, exponent - 31); }
};

// Numbers above 2^29 count as 2^29, which takes every sum but 0 beyond all codes. The multiplier is
// 0 below 2^-32, and of a number that is not above 0 or is NaN. REQUIRES: `bits` is 16, of which
// the last 16 of the multiplier are 0, or 32.
inline FixedPointMultiplier FixedPointMultiplierOf(double number, int bits) {
  constexpr int64_t kOne = int64_t{1} << 31;
  if (!(number > 0)) return {};
  FixedPointMultiplier found;
  const double fraction = std::frexp(std::min(number, 0x1p29), &found.exponent);
  int64_t multiplier = std::llround(fraction * static_cast<double>(kOne));
  if (multiplier == kOne) {
    multiplier /= 2;
    ++found.exponent;
  }
  if (found.exponent < -31) return {};
  if (bits == 16) {
    multiplier = std::min<int64_t>((multiplier + (1 << 15)) >> 16, INT16_MAX) * (1 << 16);
  }
  found.multiplier = static_cast<int32_t>(multiplier);
  return found;
}

// What a sum is multiplied by: the step of the sums over that of the codes, as FP32, which has as
// many bits of it as the multiplier keeps: 24 of 31, or 15.
inline float RequantizationFactor(float step_of_sums, float step_of_codes, int bits) {
  return static_cast<float>(FixedPointMultiplierOf(step_of_sums / step_of_codes, bits).number());
}

// By the formulas above. A sum beyond kLargestRequantizedSum counts as that. REQUIRES: `roundings`
// is 1 or 2.
inline int64_t Requantize(int64_t sum, const FixedPointMultiplier& by, int roundings) {
  const int64_t n = std::clamp<int64_t>(sum, -kLargestRequantizedSum, kLargestRequantizedSum);
  const int64_t product = n * by.multiplier;
  if (roundings == 1 || by.exponent >= 0) {
    const int shift = 31 - by.exponent;
    return (product + (int64_t{1} << (shift - 1))) >> shift;
  }
  const int64_t y = (product + (int64_t{1} << 30)) >> 31;
  const int shift = -by.exponent;
  const int64_t mask = (int64_t{1} << shift) - 1;
  return (y >> shift) + static_cast<int>((y & mask) > (mask >> 1) + static_cast<int>(y < 0));
}

// The same in floating point, for loops that the compiler vectorises: FP64 holds every product of a
// sum and a factor. `sum` is an integer, `factor` one of RequantizationFactor; a NaN gives -2^23 *
// factor.
template <int kRoundings>
inline float RequantizeFloat(float sum, float factor) {
  constexpr auto kMost = static_cast<float>(kLargestRequantizedSum);
  const float raised = sum > -kMost ? sum : -kMost;
  const double n = raised < kMost ? raised : kMost;
  if (kRoundings == 1) return static_cast<float>(__builtin_floor(n * factor + 0.5));
  uint32_t bits = 0;
  __builtin_memcpy(&bits, &factor, sizeof bits);
  const int exponent = static_cast<int>(bits >> 23) - 126;
  const int below = exponent < 0 ? exponent : 0;
  const uint32_t bits_of_power = static_cast<uint32_t>(127 + below) << 23;
  const uint32_t bits_of_inverse = static_cast<uint32_t>(127 - below) << 23;
  float power = 0;
  float inverse = 0;
  __builtin_memcpy(&power, &bits_of_power, sizeof power);
  __builtin_memcpy(&inverse, &bits_of_inverse, sizeof inverse);
  const double y = __builtin_floor(n * (factor * inverse) + 0.5);
  const double magnitude = __builtin_floor(__builtin_fabs(y) * power + 0.5);
  return static_cast<float>(y < 0 ? -magnitude : magnitude) + 0.0f;
}

// What a float that is a sum times its step stands for; 0 for a NaN, and where the step is not
// above 0.
inline float SumOf(float x, float step) {
  const double sum = step > 0 ? static_cast<double>(x) / step : 0;
  constexpr double kMost = kLargestRequantizedSum;
  const double raised = sum > -kMost ? sum : sum == sum ? -kMost : 0;
  return static_cast<float>(__builtin_nearbyint(raised < kMost ? raised : kMost));
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_FIXED_POINT_H_
