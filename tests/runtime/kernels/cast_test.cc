#include "runtime/kernels/cast.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

// Whole vectors and a rest.
constexpr size_t kSize = 77;

template <typename From, typename To>
void ExpectCast() {
  std::array<From, kSize> from;
  for (size_t i = 0; i < kSize; ++i) {
    // Halves, and of signed types both signs.
    const double value = static_cast<double>(i % 21) / 2 * (i % 2 != 0 ? 1 : -1);
    from[i] = static_cast<From>(
        std::is_unsigned_v<From> || std::is_unsigned_v<To> ? std::fabs(value) : value);
  }
  std::array<To, kSize> to;
  Cast(absl::MakeConstSpan(from), absl::MakeSpan(to));
  for (size_t i = 0; i < kSize; ++i) EXPECT_EQ(to[i], static_cast<To>(from[i])) << i;
}

template <typename From>
void ExpectCasts() {
  ExpectCast<From, float>();
  ExpectCast<From, double>();
  ExpectCast<From, int32_t>();
  ExpectCast<From, int64_t>();
  ExpectCast<From, int8_t>();
  ExpectCast<From, uint8_t>();
  ExpectCast<From, bool>();
}

TEST(Cast, ConvertsEachTypeToEach) {
  ExpectCasts<float>();
  ExpectCasts<double>();
  ExpectCasts<int32_t>();
  ExpectCasts<int64_t>();
  ExpectCasts<int8_t>();
  ExpectCasts<uint8_t>();
  ExpectCasts<bool>();
}

TEST(Cast, GoesTowardsZero) {
  std::array<int64_t, 4> to;
  Cast(absl::MakeConstSpan({1.9f, -1.9f, -0.5f, 3e9f}), absl::MakeSpan(to));
  EXPECT_EQ(to, (std::array<int64_t, 4>{1, -1, 0, 3000000000}));
}

}  // namespace
}  // namespace fixpoint::kernels
