// Reductions over axes, and the gradients of sums and means, against plain loops in double.

#include "runtime/kernels/reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  std::string name;
  Dims dims;
  Dims axes;
};

const Case kCases[] = {
    {"All", {3, 5, 7}, {0, 1, 2}},
    {"Last", {6, 37}, {1}},
    {"First", {37, 20}, {0}},
    {"FirstOfMany", {1001, 3}, {0}},
    {"Middle", {3, 9, 17}, {1}},
    {"Image", {2, 4, 5, 3}, {1, 2}},
    {"ChannelsOfRowMajor", {2, 3, 4, 5}, {0, 2, 3}},
    {"Ends", {4, 5, 6}, {0, 2}},
    {"FromTheEnd", {4, 5, 6}, {-1}},
    {"Nothing", {4, 5}, {}},
    {"AxesOfOne", {1, 5, 1}, {0, 2}},
    {"Scalar", {}, {}},
};

// Which element of the result each element of x belongs to.
std::vector<int64_t> PlacesOf(const Case& c) {
  const int rank = static_cast<int>(c.dims.size());
  Dims kept = c.dims;
  for (const int64_t axis : c.axes) kept[axis < 0 ? axis + rank : axis] = 1;
  int64_t size = 1;
  for (const int64_t extent : c.dims) size *= extent;
  std::vector<int64_t> places(size);
  for (int64_t i = 0; i < size; ++i) {
    int64_t rest = i;
    int64_t stride = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const int64_t index = rest % c.dims[axis];
      rest /= c.dims[axis];
      places[i] += kept[axis] == 1 ? 0 : index * stride;
      stride *= kept[axis];
    }
  }
  return places;
}

class Reductions : public testing::TestWithParam<std::tuple<ReductionType, Case>> {};

TEST_P(Reductions, EqualPlainLoops) {
  const auto& [type, c] = GetParam();
  const auto planned = Reduction::Plan({type, c.dims, c.axes});
  ASSERT_TRUE(planned.ok()) << planned.status();
  const std::vector<int64_t> places = PlacesOf(c);
  const int64_t out_size = *std::max_element(places.begin(), places.end()) + 1;
  ASSERT_EQ((*planned)->out_size(), out_size);
  const double count = static_cast<double>(places.size()) / static_cast<double>(out_size);

  std::vector<float> x(places.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i));
  std::vector<float> out(out_size);
  (*planned)->Run(x, absl::MakeSpan(out));
  std::vector<double> sums(out_size);
  std::vector<double> largest(out_size, -INFINITY);
  std::vector<double> smallest(out_size, INFINITY);
  std::vector<double> products(out_size, 1);
  for (size_t i = 0; i < x.size(); ++i) {
    sums[places[i]] += x[i];
    largest[places[i]] = std::max(largest[places[i]], double{x[i]});
    smallest[places[i]] = std::min(smallest[places[i]], double{x[i]});
    products[places[i]] *= x[i];
  }
  for (int64_t i = 0; i < out_size; ++i) {
    switch (type) {
      case ReductionType::kSum:
        EXPECT_NEAR(out[i], sums[i], FLT_EPSILON * (std::fabs(sums[i]) + 1e-6)) << i;
        break;
      case ReductionType::kMean:
        EXPECT_NEAR(out[i], sums[i] / count, FLT_EPSILON * (std::fabs(sums[i]) + 1e-6)) << i;
        break;
      case ReductionType::kMax:
        EXPECT_EQ(out[i], largest[i]) << i;
        break;
      case ReductionType::kMin:
        EXPECT_EQ(out[i], smallest[i]) << i;
        break;
      case ReductionType::kProduct:  // which may be too small for a normal float
        EXPECT_NEAR(out[i], products[i], FLT_EPSILON * std::fabs(products[i]) + FLT_TRUE_MIN) << i;
        break;
    }
  }
  if (type != ReductionType::kSum && type != ReductionType::kMean) return;

  std::vector<float> dout(out_size);
  for (int64_t i = 0; i < out_size; ++i) dout[i] = std::cos(static_cast<float>(i));
  std::vector<float> dx(x.size());
  (*planned)->Backward(dout, absl::MakeSpan(dx));
  for (size_t i = 0; i < dx.size(); ++i) {
    const double expected = dout[places[i]] / (type == ReductionType::kMean ? count : 1);
    EXPECT_NEAR(dx[i], expected, FLT_EPSILON * std::fabs(expected)) << i;
  }
}

std::string NameOf(ReductionType type) {
  switch (type) {
    case ReductionType::kSum:
      return "Sum";
    case ReductionType::kMean:
      return "Mean";
    case ReductionType::kMax:
      return "Max";
    case ReductionType::kMin:
      return "Min";
    case ReductionType::kProduct:
      return "Product";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Shapes, Reductions,
                         testing::Combine(testing::Values(ReductionType::kSum, ReductionType::kMean,
                                                          ReductionType::kMax, ReductionType::kMin,
                                                          ReductionType::kProduct),
                                          testing::ValuesIn(kCases)),
                         [](const auto& info) {
                           return NameOf(std::get<0>(info.param)) + std::get<1>(info.param).name;
                         });

// Along lines and across them, in front and after.
TEST(Reduction, KeepsANan) {
  for (const ReductionType type : {ReductionType::kSum, ReductionType::kMean, ReductionType::kMax,
                                   ReductionType::kMin, ReductionType::kProduct}) {
    for (const int64_t axis : {0, 1}) {
      const auto planned = Reduction::Plan({type, {2, 2}, {axis}});
      ASSERT_TRUE(planned.ok()) << planned.status();
      for (int at = 0; at < 4; ++at) {
        std::vector<float> x = {1, 2, 3, 4};
        x[at] = kNan;
        std::vector<float> out(2);
        (*planned)->Run(x, absl::MakeSpan(out));
        const int place = axis == 0 ? at % 2 : at / 2;
        EXPECT_TRUE(std::isnan(out[place]));
        EXPECT_FALSE(std::isnan(out[1 - place]));
      }
    }
  }
}

// Four sums of lines, one after the other: adding a small value to 1e17 changes nothing. With a
// thread for each place, lines of one place would be adjacent.
TEST(Reduction, AddsInOneOrderOnAnyNumberOfThreads) {
  constexpr int64_t kPlaces = 2;
  constexpr int64_t kLine = 100000;
  const auto planned = Reduction::Plan({ReductionType::kSum, {4, kPlaces, kLine}, {0, 2}});
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<float> x(4 * kPlaces * kLine);
  const float of_lines[] = {1e17f, 1, -1e17f, 1};
  for (int64_t i = 0; i < 4 * kPlaces; ++i) x[i * kLine] = of_lines[i / kPlaces];
  for (const int threads : {1, 2, 3}) {
    UseThreads(threads);
    std::vector<float> out(kPlaces);
    (*planned)->Run(x, absl::MakeSpan(out));
    EXPECT_EQ(out, (std::vector<float>{1, 1})) << threads;
  }
}

TEST(Reduction, RefusesAnAxisThatIsNone) {
  EXPECT_FALSE(Reduction::Plan({ReductionType::kSum, {2, 3}, {2}}).ok());
  EXPECT_EQ(Reduction::Plan({ReductionType::kSum, {0, 3}, {1}}).status(),
            absl::InvalidArgumentError("X [0, 3]; want extents of 1 to 2^31 - 1"));
}

}  // namespace
}  // namespace fixpoint::kernels
