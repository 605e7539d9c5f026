// Elements of one type from those of another.

#ifndef FIXPOINT_RUNTIME_KERNELS_CAST_H_
#define FIXPOINT_RUNTIME_KERNELS_CAST_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/types/span.h"

namespace fixpoint::kernels {

// Converts a value of one type to another. To an integer: rounded towards zero, clamped to the
// range of the type, and 0 for a NaN. To a bool: whether it is not 0. Types, here and below: float,
// double, int32_t, int64_t, int8_t, uint8_t, bool.
template <typename To, typename From>
inline To Converted(From value) {
  using Limits = std::numeric_limits<To>;
  if constexpr (std::is_same_v<To, bool>) {
    return value != From();
  } else if constexpr (!Limits::is_integer) {
    return static_cast<To>(value);
  } else if constexpr (std::numeric_limits<From>::is_integer) {
    const auto wide = static_cast<int64_t>(value);
    const int64_t least = wide < Limits::max() ? wide : Limits::max();
    return static_cast<To>(least > Limits::lowest() ? least : Limits::lowest());
  } else {
    // Except for the largest integer, the bound is the power of two after it.
    constexpr From kAbove = From{2} * static_cast<From>(Limits::max() / 2 + 1);
    constexpr From kBelow = kAbove * (1 - std::numeric_limits<From>::epsilon() / 2);
    constexpr From kLowest = static_cast<From>(Limits::lowest());
    From held = value < kBelow ? value : kBelow;
    held = held > kLowest ? held : kLowest;
    const To converted = value >= kAbove ? Limits::max() : static_cast<To>(held);
    return value == value ? converted : To();
  }
}

// The same for each element; from int16_t, which holds codes of 9 to 16 bits, to float. REQUIRES:
// the spans have one size.
template <typename From, typename To>
void Cast(absl::Span<const From> from, absl::Span<To> to);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CAST_H_
