#include "runtime/kernels/cast.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

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

template <typename To, typename From>
std::vector<To> Casts(const std::vector<From>& from) {
  std::vector<To> to(from.size());
  Cast<From, To>(from, absl::MakeSpan(to));
  return to;
}

template <typename To, typename From>
void ExpectNearest() {
  constexpr From kInfinity = std::numeric_limits<From>::infinity();
  constexpr From kNan = std::numeric_limits<From>::quiet_NaN();
  constexpr To kLargest = std::numeric_limits<To>::max();
  constexpr To kLowest = std::numeric_limits<To>::lowest();
  const From above = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  const std::vector<From> values = {above, above * 2, kInfinity, -above * 2, -kInfinity, kNan};
  EXPECT_EQ(Casts<To>(values),
            (std::vector<To>{kLargest, kLargest, kLargest, kLowest, kLowest, 0}));
  const From below = std::nextafter(above, From{0});
  EXPECT_EQ(Casts<To>(std::vector<From>{below}), (std::vector<To>{static_cast<To>(below)}));
}

TEST(Cast, GivesTheNearestIntegerThatTheTypeHolds) {
  ExpectNearest<int64_t, float>();
  ExpectNearest<int32_t, float>();
  ExpectNearest<int8_t, float>();
  ExpectNearest<uint8_t, float>();
  ExpectNearest<int64_t, double>();
  ExpectNearest<int32_t, double>();
  EXPECT_EQ(Casts<uint8_t>(std::vector<float>{-1.5f, 255.9f}), (std::vector<uint8_t>{0, 255}));
  const std::vector<int64_t> integers = {-200, 127, 300, int64_t{1} << 40};
  EXPECT_EQ(Casts<int8_t>(integers), (std::vector<int8_t>{-128, 127, 127, 127}));
  EXPECT_EQ(Casts<uint8_t>(integers), (std::vector<uint8_t>{0, 127, 255, 255}));
  EXPECT_EQ(Casts<int32_t>(integers), (std::vector<int32_t>{-200, 127, 300, 2147483647}));
}

}  // namespace
}  // namespace fixpoint::kernels
