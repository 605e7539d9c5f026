#include "moving_average_sigma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace out_of_tree {
namespace {

using ::testing::FloatNear;

// scale, state, accum.
float Observe(const fixpoint::Quantizer& quantizer, const std::vector<float>& values,
              std::vector<float>& state) {
  fixpoint::QuantSpec spec;
  (*spec.mutable_parameters())["sigmas"] = 2;
  const std::vector<absl::Span<float>> spans = {
      absl::MakeSpan(&state[0], 1), absl::MakeSpan(&state[1], 1), absl::MakeSpan(&state[2], 1)};
  return quantizer.Observe(spec, values, spans, 1);
}

TEST(MovingAverageSigma, AveragesRootMeanSquares) {
  const auto quantizer = MakeMovingAverageSigma();
  std::vector<float> state = {0, 0, 0};
  // 2 * sqrt((1 + 1 + 49 + 49) / 4) = 10
  EXPECT_THAT(Observe(*quantizer, {1, -1, 7, -7}, state), FloatNear(10, 1e-5f));
  // (0.9 * 10 + 2 * 3) / 1.9
  EXPECT_THAT(Observe(*quantizer, {3, -3}, state), FloatNear(15 / 1.9f, 1e-5f));
}

TEST(MovingAverageSigma, OfZerosIsZero) {
  const auto quantizer = MakeMovingAverageSigma();
  std::vector<float> state = {0, 0, 0};
  EXPECT_EQ(Observe(*quantizer, {0, 0}, state), 0);
}

}  // namespace
}  // namespace out_of_tree
