// Copies between layouts against the definition, element by element.

#include "runtime/kernels/strided_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

struct Case {
  std::string name;
  Dims dims;
  StridedLayout from;
  StridedLayout to;
  int64_t from_size;
  int64_t to_size;
};

int64_t SizeOf(const Dims& dims) {
  int64_t size = 1;
  for (const int64_t extent : dims) size *= extent;
  return size;
}

// x transposed.
Case Transposed(const std::string& name, const Dims& x, const Dims& permutation) {
  Dims dims;
  for (const int64_t axis : permutation) dims.push_back(x[axis]);
  return {name, dims, TransposedLayout(x, permutation), RowMajorLayout(dims), SizeOf(x), SizeOf(x)};
}

// dims of x, from `starts` on.
Case Sliced(const std::string& name, const Dims& x, const Dims& starts, const Dims& steps,
            const Dims& dims) {
  return {name,      dims,        SlicedLayout(x, starts, steps), RowMajorLayout(dims),
          SizeOf(x), SizeOf(dims)};
}

// The way that a gradient of a slice goes, and each part of what is joined.
Case PutInto(const std::string& name, const Dims& out, const Dims& starts, const Dims& dims) {
  return {name,
          dims,
          RowMajorLayout(dims),
          SlicedLayout(out, starts, Dims(out.size(), 1)),
          SizeOf(dims),
          SizeOf(out)};
}

const Case kCases[] = {
    Transposed("Matrix", {37, 50}, {1, 0}),
    Transposed("ChannelsLast", {2, 5, 7, 9}, {0, 2, 3, 1}),
    Transposed("ChannelsFirst", {2, 7, 9, 33}, {0, 3, 1, 2}),
    Transposed("Heads", {2, 6, 4, 8}, {0, 2, 1, 3}),
    Transposed("Reversed", {2, 3, 4, 5}, {3, 2, 1, 0}),
    Transposed("OnesInside", {1, 3, 1, 4}, {3, 0, 1, 2}),
    Transposed("Same", {3, 4, 5}, {0, 1, 2}),
    Transposed("Mixed", {3, 4, 2, 5, 2}, {2, 4, 0, 3, 1}),
    Sliced("Rows", {9, 6}, {2, 0}, {1, 1}, {4, 6}),
    Sliced("Columns", {9, 6}, {0, 3}, {1, 1}, {9, 2}),
    Sliced("Steps", {9, 7}, {1, 0}, {3, 2}, {3, 4}),
    Sliced("Backwards", {5, 4}, {4, 3}, {-2, -1}, {3, 4}),
    PutInto("JoinedInFront", {5, 9, 3}, {0, 0, 0}, {5, 4, 3}),
    PutInto("JoinedAfter", {5, 9, 3}, {0, 4, 0}, {5, 5, 3}),
    {"Expanded", {4, 3, 5}, {0, {0, 1, 0}}, RowMajorLayout({4, 3, 5}), 3, 60},
    {"Scalar", {}, {2, {}}, {1, {}}, 3, 2},
};

// The place of element i of the dims, counted row by row.
int64_t PlaceOf(const Dims& dims, const StridedLayout& layout, int64_t i) {
  int64_t place = layout.offset;
  for (int axis = static_cast<int>(dims.size()) - 1; axis >= 0; --axis) {
    place += i % dims[axis] * layout.strides[axis];
    i /= dims[axis];
  }
  return place;
}

template <typename T>
void ExpectCopied(const Case& c) {
  const auto planned = StridedCopy::Plan(c.dims, c.from, c.to);
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<T> from(c.from_size);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i % 120 + 1);
  std::vector<T> to(c.to_size);
  std::vector<T> expected(c.to_size);
  for (int64_t i = 0; i < SizeOf(c.dims); ++i) {
    expected.at(PlaceOf(c.dims, c.to, i)) = from.at(PlaceOf(c.dims, c.from, i));
  }
  (*planned)->Run(absl::MakeConstSpan(from), absl::MakeSpan(to));
  EXPECT_EQ(to, expected);
}

class StridedCopies : public testing::TestWithParam<Case> {};

TEST_P(StridedCopies, MoveEachElement) {
  ExpectCopied<float>(GetParam());
  ExpectCopied<int64_t>(GetParam());
  ExpectCopied<uint8_t>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Layouts, StridedCopies, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(StridedCopy, RefusesALayoutInFrontOfItsTensor) {
  EXPECT_EQ(StridedCopy::Plan({3}, {1, {-1}}, {0, {1}}).status(),
            absl::InvalidArgumentError("a layout begins at element -1; want 0 or more"));
  EXPECT_EQ(StridedCopy::Plan({3}, {0, {1, 1}}, {0, {1}}).status(),
            absl::InvalidArgumentError("strides [1, 1] of [3]; want one for each"));
}

}  // namespace
}  // namespace fixpoint::kernels
