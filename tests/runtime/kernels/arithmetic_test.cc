#include "runtime/kernels/arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

TEST(Arithmetic, ScalesBeforeOrAfterTheBias) {
  std::vector<float> x = {1, -2, 0.5f};
  std::vector<float> y(3);
  Scale(x, 3, 10, BiasOrder::kAfterFactor, absl::MakeSpan(y));
  EXPECT_EQ(y, (std::vector<float>{13, 4, 11.5f}));
  Scale(x, 3, 10, BiasOrder::kBeforeFactor, absl::MakeSpan(x));
  EXPECT_EQ(x, (std::vector<float>{33, 24, 31.5f}));
}

TEST(Arithmetic, AddsTermsInTheirOrder) {
  const std::vector<float> large = {1e8f, -1e8f};
  const std::vector<float> small = {1, 1};
  std::vector<float> y(2);
  AddAll({large}, absl::MakeSpan(y));
  EXPECT_EQ(y, large);
  // (1e8 + 1) - 1e8 is 0 in floats, and 1 in another order.
  AddAll({large, small, std::vector<float>{-1e8f, 1e8f}}, absl::MakeSpan(y));
  EXPECT_EQ(y, (std::vector<float>{0, 0}));
  y = {5, 6};
  AddAll({y, small, small, small, small}, absl::MakeSpan(y));
  EXPECT_EQ(y, (std::vector<float>{9, 10}));
}

// A gradient that is used three times is one buffer; an accumulator may be any of the terms.
TEST(Arithmetic, AddsIntoAnyOfItsTerms) {
  for (const size_t size : {1, 255, 256, 257, 1000}) {
    const std::vector<float> ones(size, 1);
    std::vector<float> x(size, 5);
    AddAll({x, x, x}, absl::MakeSpan(x));
    EXPECT_EQ(x, std::vector<float>(size, 15));
    AddAll({ones, ones, x}, absl::MakeSpan(x));
    EXPECT_EQ(x, std::vector<float>(size, 17));
    AddAll({x, ones, x}, absl::MakeSpan(x));
    EXPECT_EQ(x, std::vector<float>(size, 35));
  }
}

TEST(Arithmetic, SumsInDouble) {
  for (const size_t size : {0, 1, 15, 16, 17, 1000}) {
    std::vector<float> x(size);
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < size; ++i) {
      x[i] = std::sin(static_cast<float>(i)) * 1e4f;
      sum += x[i];
      squares += double{x[i]} * x[i];
    }
    // Each sum of up to 1000 doubles is rounded as often.
    EXPECT_NEAR(Sum(x), sum, 1e3 * 1e7 * 1e-16);
    EXPECT_NEAR(SumOfSquares(x), squares, 1e3 * 1e11 * 1e-16);
  }
}

// 3e38 squared is beyond floats.
TEST(Arithmetic, SumsWhatFloatsDoNotHold) {
  EXPECT_EQ(SumOfSquares({3e38f}), double{3e38f} * 3e38f);
  EXPECT_EQ(Sum({3e38f, 3e38f, -3e38f}), 3e38f);
  EXPECT_TRUE(std::isnan(Sum({1, std::numeric_limits<float>::quiet_NaN()})));
}

}  // namespace
}  // namespace fixpoint::kernels
