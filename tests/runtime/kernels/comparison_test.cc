// Comparisons and logic against C++'s own, element by element.

#include "runtime/kernels/comparison.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

// Whole vectors and a rest.
constexpr size_t kSize = 77;

template <typename T>
bool Holds(Relation relation, T x, T y) {
  switch (relation) {
    case Relation::kEqual:
      return x == y;
    case Relation::kNotEqual:
      return x != y;
    case Relation::kLess:
      return x < y;
    case Relation::kLessEqual:
      return x <= y;
    case Relation::kGreater:
      return x > y;
    case Relation::kGreaterEqual:
      return x >= y;
    case Relation::kAnd:
      return x && y;
    case Relation::kOr:
      return x || y;
    case Relation::kXor:
      break;
  }
  return !x != !y;
}

// All pairs of the values stand beside each other.
template <typename T>
void ExpectAllRelations(const std::vector<T>& values) {
  std::array<T, kSize> x;
  std::array<T, kSize> y;
  for (size_t i = 0; i < kSize; ++i) {
    x[i] = values[i % values.size()];
    y[i] = values[i / values.size() % values.size()];
  }
  for (const Relation relation : {Relation::kEqual, Relation::kNotEqual, Relation::kLess,
                                  Relation::kLessEqual, Relation::kGreater, Relation::kGreaterEqual,
                                  Relation::kAnd, Relation::kOr, Relation::kXor}) {
    const auto comparison = Comparison::Plan(relation, {{kSize}, {kSize}});
    ASSERT_TRUE(comparison.ok()) << comparison.status();
    std::array<bool, kSize> out;
    (*comparison)->Run(absl::MakeConstSpan(x), absl::MakeConstSpan(y), absl::MakeSpan(out));
    for (size_t i = 0; i < kSize; ++i) {
      EXPECT_EQ(out[i], Holds(relation, x[i], y[i]))
          << static_cast<int>(relation) << " of " << x[i] << " and " << y[i];
    }
  }
}

TEST(Comparison, IsThatOfTheLanguage) {
  ExpectAllRelations<float>({-1.5f, 0, -0.0f, 2, std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()});
  ExpectAllRelations<int32_t>({-1, 0, 7});
  ExpectAllRelations<int64_t>({-1, 0, int64_t{1} << 40});
  ExpectAllRelations<bool>({false, true});
}

TEST(Comparison, Broadcasts) {
  const auto comparison = Comparison::Plan(Relation::kLess, {{2, 3}, {2}, /*axis=*/0});
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ((*comparison)->out_dims(), Dims({2, 3}));
  const std::vector<float> x = {0, 1, 2, 3, 4, 5};
  const std::vector<float> y = {1, 5};
  std::array<bool, 6> out;
  (*comparison)->Run<float>(x, y, absl::MakeSpan(out));
  EXPECT_EQ(out, (std::array<bool, 6>{true, false, false, true, true, false}));
}

TEST(Comparison, RefusesDimsThatDoNotBroadcast) {
  EXPECT_EQ(Comparison::Plan(Relation::kLess, {{2, 3}, {2}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Select, TakesFromXWhereTheConditionHolds) {
  bool holds[kSize];
  int32_t x[kSize];
  int32_t y[kSize];
  for (size_t i = 0; i < kSize; ++i) {
    holds[i] = i % 3 == 0;
    x[i] = static_cast<int32_t>(i);
    y[i] = -1;
  }
  Select<int32_t>(holds, x, y, absl::MakeSpan(x));
  for (size_t i = 0; i < kSize; ++i) {
    EXPECT_EQ(x[i], i % 3 == 0 ? static_cast<int32_t>(i) : -1) << i;
  }
}

}  // namespace
}  // namespace fixpoint::kernels
