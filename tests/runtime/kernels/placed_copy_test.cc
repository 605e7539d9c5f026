// Copies by places along each axis against the definition, element by element.

#include "runtime/kernels/placed_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

struct Case {
  std::string name;
  Dims from;
  std::vector<Places> places;
};

int64_t SizeOf(const Dims& dims) {
  int64_t size = 1;
  for (const int64_t extent : dims) size *= extent;
  return size;
}

template <typename T>
std::vector<T> Expected(const Case& c, const std::vector<T>& from, T filling) {
  Dims dims = c.from;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!c.places[i].empty()) dims[i] = static_cast<int64_t>(c.places[i].size());
  }
  std::vector<T> to(SizeOf(dims));
  for (int64_t i = 0; i < SizeOf(dims); ++i) {
    int64_t rest = i;
    int64_t at = 0;
    int64_t stride = 1;
    bool has_place = true;
    for (int axis = static_cast<int>(dims.size()) - 1; axis >= 0; --axis) {
      const int64_t index = rest % dims[axis];
      rest /= dims[axis];
      const int64_t place = c.places[axis].empty() ? index : c.places[axis][index];
      has_place = has_place && place != kNoPlace;
      at += place * stride;
      stride *= c.from[axis];
    }
    to[i] = has_place ? from[at] : filling;
  }
  return to;
}

const Case kCases[] = {
    {"Nothing", {3, 5}, {{}, {}}},
    {"Scalar", {}, {}},
    {"NearestChannelsLast", {2, 2, 3, 17}, {{}, {0, 0, 1, 1}, {0, 0, 1, 1, 2, 2}, {}}},
    {"NearestChannelsFirst", {2, 5, 2, 3}, {{}, {}, {0, 0, 1, 1}, {0, 0, 1, 1, 2, 2}}},
    {"Padded", {3, 4, 5}, {{}, {-1, 0, 1, 2, 3, -1, -1}, {-1, 0, 1, 2, 3, 4}}},
    {"PaddedOutside", {3, 4}, {{-1, 0, 1, 2, -1}, {}}},
    {"Mirrored", {2, 9}, {{}, {2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 7}}},
    {"Flipped", {4, 33}, {{3, 2, 1, 0}, {}}},
    {"InAllAxes", {3, 2, 4, 2}, {{2, 0}, {1, 1, 0}, {3}, {0, 1, 0}}},
    {"InTheMiddle", {3, 4, 5, 6}, {{}, {1, -1, 3}, {}, {}}},
    {"LongRow", {1, 100000}, {{}, {}}},
};

class PlacedCopies : public testing::TestWithParam<Case> {
 protected:
  template <typename T>
  void ExpectDefinition() {
    const Case& c = GetParam();
    std::vector<T> from(SizeOf(c.from));
    std::iota(from.begin(), from.end(), T(1));
    const auto copy = PlacedCopy::Plan(c.from, c.places);
    ASSERT_TRUE(copy.ok()) << copy.status();
    const std::vector<T> expected = Expected(c, from, T(99));
    std::vector<T> to(expected.size());
    (*copy)->Run<T>(absl::MakeConstSpan(from), T(99), absl::MakeSpan(to));
    EXPECT_EQ(to, expected);
  }
};

TEST_P(PlacedCopies, AreOfTheirPlaces) {
  ExpectDefinition<uint8_t>();
  ExpectDefinition<int32_t>();
  ExpectDefinition<int64_t>();
}

INSTANTIATE_TEST_SUITE_P(All, PlacedCopies, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(PlacedCopy, RefusesPlacesOutsideOfAnAxis) {
  EXPECT_EQ(PlacedCopy::Plan({2, 3}, {{}, {0, 3}}).status(),
            absl::InvalidArgumentError("a place is 3; want 0 to 2, the end of its axis"));
  EXPECT_EQ(PlacedCopy::Plan({2, 3}, {{-2}, {}}).status(),
            absl::InvalidArgumentError("a place is -2; want 0 to 1, the end of its axis"));
  EXPECT_FALSE(PlacedCopy::Plan({0, 3}, {{}, {}}).ok());
}

}  // namespace
}  // namespace fixpoint::kernels
