// The loops of fake_quantize.h over one line of memory, for vectorised.h.

#ifndef FIXPOINT_RUNTIME_KERNELS_FAKE_QUANTIZE_LOOPS_H_
#define FIXPOINT_RUNTIME_KERNELS_FAKE_QUANTIZE_LOOPS_H_

#include <cstdint>
#include <type_traits>

#include "proto/config/quant_spec.pb.h"
#include "runtime/kernels/vector_math.h"

namespace fixpoint::kernels {

// A placeholder for an output that is not written.
struct None {};

// Adjacent elements with one range for all of them or one for each; and the number of adjacent
// lines with the same ranges.
struct Line {
  int64_t size = 0;
  int64_t count = 1;
  const float* ranges = nullptr;
  const float* multipliers = nullptr;  // largest code / range
  float largest_code = 0;
  float smallest_code = 0;  // to quantize, as is the rounding
  QuantSpec::Rounding rounding = QuantSpec::HALF_TO_EVEN;
  bool range_for_each = false;
};

template <QuantSpec::Rounding kRounding>
inline float CodeOf(float x, float range, float multiplier, float smallest, float largest) {
  if constexpr (kRounding == QuantSpec::HALF_TO_EVEN) {
    // Clamped before it is rounded, which is the same because the bounds are integers.
    float scaled = multiplier * x;
    scaled = scaled > largest ? largest : scaled;
    scaled = scaled < smallest ? smallest : scaled;
    return __builtin_nearbyintf(scaled) + 0.0f;
  } else {
    x = x > range ? range : x;
    x = x < -range ? -range : x;
    return RoundHalfAway(multiplier * x) + 0.0f;
  }
}

template <typename Code>
inline Code As(float code) {
  if constexpr (std::is_same_v<Code, float>) {
    return code;
  } else {
    return static_cast<Code>(static_cast<int32_t>(code == code ? code : 0.0f));
  }
}

template <QuantSpec::Rounding kRounding, bool kRangeForEach, typename Code, typename Value>
inline void QuantizeAs(const Line& line, const float* x, Code* codes, Value* values) {
  const float largest = line.largest_code;
  const float smallest = line.smallest_code;
  const int64_t size = line.size;
  const float* const ranges = line.ranges;
  const float* const multipliers = line.multipliers;
  for (int64_t start = 0; start < line.count * size; start += size) {
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      const float range = ranges[kRangeForEach ? i : 0];
      const float multiplier = multipliers[kRangeForEach ? i : 0];
      const float code = CodeOf<kRounding>(x[start + i], range, multiplier, smallest, largest);
      if constexpr (!std::is_same_v<Value, None>) values[start + i] = code * range / largest;
      if constexpr (!std::is_same_v<Code, None>) codes[start + i] = As<Code>(code);
    }
  }
}

// For each element its code and the float that it stands for, where they are requested. Outputs may
// be the input.
template <typename Code, typename Value>
inline void QuantizeLine(const Line& line, const float* x, Code* codes, Value* values) {
  if (line.rounding == QuantSpec::HALF_TO_EVEN) {
    line.range_for_each
        ? QuantizeAs<QuantSpec::HALF_TO_EVEN, true, Code, Value>(line, x, codes, values)
        : QuantizeAs<QuantSpec::HALF_TO_EVEN, false, Code, Value>(line, x, codes, values);
  } else {
    line.range_for_each
        ? QuantizeAs<QuantSpec::HALF_AWAY_FROM_ZERO, true, Code, Value>(line, x, codes, values)
        : QuantizeAs<QuantSpec::HALF_AWAY_FROM_ZERO, false, Code, Value>(line, x, codes, values);
  }
}

template <bool kRangeForEach, typename Code>
inline void DequantizeAs(const Line& line, const Code* codes, float* values) {
  const float largest = line.largest_code;
  const int64_t size = line.size;
  const float* const ranges = line.ranges;
  for (int64_t start = 0; start < line.count * size; start += size) {
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      const float code = static_cast<float>(codes[start + i]);
      values[start + i] = code * ranges[kRangeForEach ? i : 0] / largest;
    }
  }
}

template <typename Code>
inline void DequantizeLine(const Line& line, const Code* codes, float* values) {
  line.range_for_each ? DequantizeAs<true>(line, codes, values)
                      : DequantizeAs<false>(line, codes, values);
}

inline uint32_t AbsBits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits & 0x7fffffffu;
}

// The bits of the largest absolute value, which of positive floats ascend with their value: those
// of a NaN are above those of infinity.
inline uint32_t AbsMaxBits(const float* x, int64_t size) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < size; ++i) {
    const uint32_t bits = AbsBits(x[i]);
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

// Raises the bits at each place of a line to the largest of the elements at that place in `count`
// lines.
inline void RaiseAbsMaxBits(const float* x, int64_t count, int64_t size, uint32_t* largest) {
  for (int64_t start = 0; start < count * size; start += size) {
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      const uint32_t bits = AbsBits(x[start + i]);
      largest[i] = bits > largest[i] ? bits : largest[i];
    }
  }
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_FAKE_QUANTIZE_LOOPS_H_
