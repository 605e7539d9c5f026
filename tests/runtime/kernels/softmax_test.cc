// Softmax, its loss and their gradients against plain loops in double.

#include "runtime/kernels/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  std::string name;
  Lines lines;
};

// One line of it: where its elements are, and its softmax in double.
struct Line {
  std::vector<int64_t> places;
  double log_sum = 0;  // of the exponentials of what is below the largest
  std::vector<double> shifted;

  double Softmax(size_t i) const { return std::exp(shifted[i] - log_sum); }
};

class Softmaxes : public testing::TestWithParam<Case> {
 protected:
  std::vector<float> Waves(double step, double height) const {
    std::vector<float> values(lines_.size());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(height * std::sin(step * static_cast<double>(i * i)));
    }
    return values;
  }

  std::vector<Line> LinesOf(const std::vector<float>& x, double lowest) const {
    std::vector<Line> result;
    for (int64_t o = 0; o < lines_.outer; ++o) {
      for (int64_t k = 0; k < lines_.inner; ++k) {
        Line line;
        double largest = -INFINITY;
        for (int64_t i = 0; i < lines_.length; ++i) {
          line.places.push_back((o * lines_.length + i) * lines_.inner + k);
          largest = std::max(largest, double{x[line.places.back()]});
        }
        double sum = 0;
        for (const int64_t at : line.places) {
          line.shifted.push_back(std::max(x[at] - largest, lowest));
          sum += std::exp(line.shifted.back());
        }
        line.log_sum = std::log(sum);
        result.push_back(std::move(line));
      }
    }
    return result;
  }

  std::vector<int64_t> Classes() const {
    std::vector<int64_t> classes(lines_.count());
    for (int64_t i = 0; i < lines_.count(); ++i) classes[i] = i * 7 % lines_.length;
    if (classes.size() > 1) classes[1] = -100;
    return classes;
  }

  // Distributions, with elements that are 0.
  std::vector<float> Distributions() const {
    std::vector<float> soft = Waves(0.3, 1);
    for (float& share : soft) share = share < 0 ? 0 : share;
    return soft;
  }

  // Forward and backward of the loss with those labels.
  void ExpectLoss(const Labels& labels) const {
    ASSERT_TRUE(CheckLabels(lines_, labels).ok());
    const std::vector<float> x = Waves(0.7, 40);
    std::vector<float> softmax(x.size());
    std::vector<float> loss(lines_.count());
    SoftmaxCrossEntropy(lines_, x, labels, absl::MakeSpan(softmax), absl::MakeSpan(loss));
    std::vector<float> dloss(loss.size());
    for (size_t i = 0; i < dloss.size(); ++i) dloss[i] = std::cos(static_cast<float>(i));
    std::vector<float> dx = softmax;
    SoftmaxCrossEntropyBackward(lines_, dx, labels, dloss, absl::MakeSpan(dx));
    int64_t at_line = 0;
    for (const Line& line : LinesOf(x, -64)) {
      double expected = 0;
      for (size_t i = 0; i < line.places.size(); ++i) {
        const int64_t at = line.places[i];
        const double share = labels.is_soft() ? double{labels.soft[at]}
                                              : labels.classes[at_line] == static_cast<int64_t>(i);
        expected += share * (line.log_sum - line.shifted[i]);
        const double gradient = (line.Softmax(i) - share) * dloss[at_line];
        EXPECT_NEAR(softmax[at], line.Softmax(i), kTolerance) << at;
        EXPECT_NEAR(dx[at], labels.IsIgnored(at_line) ? 0 : gradient, kTolerance) << at;
      }
      // What is below the largest is rounded to floats, of up to 80 here.
      EXPECT_NEAR(loss[at_line], expected, 80 * FLT_EPSILON * std::max(1.0, expected)) << at_line;
      ++at_line;
    }
  }

  // An exponential of a float of up to 80 is as far off as that float, 40 epsilon of it; all that
  // is large is near 0. Of 5 and less it is 3 epsilon, and there are a few operations more.
  static constexpr double kTolerance = 8 * FLT_EPSILON;
  const Lines lines_ = GetParam().lines;
};

TEST_P(Softmaxes, EqualPlainLoops) {
  const std::vector<float> x = Waves(0.7, 40);
  std::vector<float> y = x;
  Softmax(lines_, y, absl::MakeSpan(y));
  const std::vector<float> dy = Waves(1.1, 1);
  std::vector<float> dx = dy;
  SoftmaxBackward(lines_, y, dx, absl::MakeSpan(dx));
  for (const Line& line : LinesOf(x, -64)) {
    double dot = 0;
    for (size_t i = 0; i < line.places.size(); ++i) dot += line.Softmax(i) * dy[line.places[i]];
    for (size_t i = 0; i < line.places.size(); ++i) {
      const int64_t at = line.places[i];
      EXPECT_NEAR(y[at], line.Softmax(i), kTolerance) << at;
      EXPECT_NEAR(dx[at], line.Softmax(i) * (dy[at] - dot), 2 * kTolerance) << at;
    }
  }
}

TEST_P(Softmaxes, HaveALogarithm) {
  const std::vector<float> x = Waves(0.7, 100);
  std::vector<float> y = x;
  LogSoftmax(lines_, y, absl::MakeSpan(y));
  for (const Line& line : LinesOf(x, -64)) {
    for (size_t i = 0; i < line.places.size(); ++i) {
      EXPECT_NEAR(y[line.places[i]], line.shifted[i] - line.log_sum, 200 * FLT_EPSILON);
    }
  }
}

TEST_P(Softmaxes, HaveALossAgainstClasses) {
  const std::vector<int64_t> classes = Classes();
  ExpectLoss({classes, -100, {}});
}

TEST_P(Softmaxes, HaveALossAgainstDistributions) {
  const std::vector<float> soft = Distributions();
  ExpectLoss({{}, -100, soft});
}

INSTANTIATE_TEST_SUITE_P(Shapes, Softmaxes,
                         testing::Values(Case{"Classes10", {9, 10, 1}},
                                         Case{"Classes1000", {3, 1000, 1}},
                                         Case{"OneClass", {4, 1, 1}}, Case{"OneLine", {1, 17, 1}},
                                         Case{"Strided", {2, 5, 19}},
                                         Case{"FirstAxis", {1, 33, 4}}),
                         [](const auto& info) { return info.param.name; });

TEST(Softmax, CountsNoLogitAsLessThan64BelowTheLargest) {
  std::vector<float> y = {0, -1000, -kInfinity};
  Softmax({1, 3, 1}, y, absl::MakeSpan(y));
  const float lowest = static_cast<float>(std::exp(-64.0));
  EXPECT_EQ(y[0], 1);
  EXPECT_NEAR(y[1], lowest, lowest * 4 * FLT_EPSILON);
  EXPECT_EQ(y[2], y[1]);

  std::vector<float> loss(1);
  SoftmaxCrossEntropy({1, 2, 1}, {0, -kInfinity}, {{1}, -100, {}}, absl::MakeSpan(y).first(2),
                      absl::MakeSpan(loss));
  EXPECT_EQ(loss[0], 64);
}

TEST(Softmax, IsNanInALineWithANan) {
  std::vector<float> y = {1, kNan, 2, 3, kInfinity, 4};
  Softmax({3, 2, 1}, y, absl::MakeSpan(y));
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_TRUE(std::isnan(y[4]) && std::isnan(y[5]));
  EXPECT_NEAR(y[2] + y[3], 1, 2 * FLT_EPSILON);
}

TEST(Softmax, ChecksLabels) {
  const Lines lines = {2, 3, 1};
  EXPECT_TRUE(CheckLabels(lines, {{2, 255}, 255, {}}).ok());
  EXPECT_EQ(CheckLabels(lines, {{2, 3}, -100, {}}),
            absl::InvalidArgumentError("a label is 3; want 0 to 2, or -100 for a line to ignore"));
  EXPECT_EQ(CheckLabels(lines, {{2}, -100, {}}), absl::InvalidArgumentError("1 labels; want 2"));
  EXPECT_EQ(CheckLabels(lines, {{}, -100, {0.5f, 0.5f}}),
            absl::InvalidArgumentError("2 labels; want 6"));
}

}  // namespace
}  // namespace fixpoint::kernels
