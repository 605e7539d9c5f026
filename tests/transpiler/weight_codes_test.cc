#include "transpiler/weight_codes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace fixpoint {
namespace {

using testing::ElementsAre;

Tensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return Tensor::FromValues<float>(std::move(dims), values);
}

TEST(WeightCodes, OfATensorStandForItsLargestAbsoluteValue) {
  const auto made = MakeWeightCodes(Floats({2, 2}, {0.5f, -2, 1, 0}), {});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->codes.data<int8_t>(), ElementsAre(32, -127, 64, 0));
  EXPECT_THAT(made->codes.dims(), ElementsAre(2, 2));
  EXPECT_THAT(made->scales.data<float>(), ElementsAre(2));
}

TEST(WeightCodes, OfChannelsHaveAScaleEachOnWhateverAxis) {
  WeightCodesOptions options;
  options.axis = 1;
  const auto made = MakeWeightCodes(Floats({2, 2, 2}, {1, 2, 3, 4, -4, 1, -8, 2}), options);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->scales.data<float>(), ElementsAre(4, 8));
  EXPECT_THAT(made->codes.data<int8_t>(), ElementsAre(32, 64, 48, 64, -127, 32, -127, 32));
}

TEST(WeightCodes, OfAGivenScaleAreClippedToIt) {
  WeightCodesOptions options;
  options.scale = 0.5f;
  const auto made = MakeWeightCodes(Floats({3}, {0.25f, 3, -3}), options);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->codes.data<int8_t>(), ElementsAre(64, 127, -127));
  options.rounding = QuantSpec::HALF_TO_EVEN;  // which uses the lowest code, too
  EXPECT_THAT(MakeWeightCodes(Floats({3}, {0.25f, 3, -3}), options)->codes.data<int8_t>(),
              ElementsAre(64, 127, -128));
}

TEST(WeightCodes, RoundTiesAsTheQuantizerDoes) {
  const Tensor weight = Floats({4}, {127, 0.5f, -2.5f, 3.5f});
  EXPECT_THAT(MakeWeightCodes(weight, {})->codes.data<int8_t>(), ElementsAre(127, 1, -3, 4));
  WeightCodesOptions options;
  options.rounding = QuantSpec::HALF_TO_EVEN;
  EXPECT_THAT(MakeWeightCodes(weight, options)->codes.data<int8_t>(), ElementsAre(127, 0, -2, 4));
}

TEST(WeightCodes, OfMoreThan8BitsAreShorts) {
  WeightCodesOptions options;
  options.bits = 16;
  const auto made = MakeWeightCodes(Floats({2}, {-1, 0.5f}), options);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->codes.data<int16_t>(), ElementsAre(-32767, 16384));
}

TEST(WeightCodes, OfZerosAre0AndTheirScaleIs1) {
  const auto made = MakeWeightCodes(Floats({2}, {0, -0.0f}), {});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->codes.data<int8_t>(), ElementsAre(0, 0));
  EXPECT_THAT(made->scales.data<float>(), ElementsAre(1));
}

TEST(WeightCodes, OfAScaleOf0Are0WhateverTheWeightIs) {
  for (const auto rounding : {QuantSpec::HALF_AWAY_FROM_ZERO, QuantSpec::HALF_TO_EVEN}) {
    WeightCodesOptions options;
    options.rounding = rounding;
    options.scale = 0.0f;
    const auto made = MakeWeightCodes(Floats({2}, {3, -4}), options);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_THAT(made->codes.data<int8_t>(), ElementsAre(0, 0));
    EXPECT_THAT(made->scales.data<float>(), ElementsAre(1));
  }
}

TEST(WeightCodes, OfWhatIsNoWeightAreRefused) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  WeightCodesOptions channels;
  channels.axis = 1;
  EXPECT_EQ(MakeWeightCodes(Floats({2}, {1, nan}), {}).status(),
            absl::InvalidArgumentError("holds NaN or infinity"));
  EXPECT_EQ(MakeWeightCodes(Floats({2}, {-infinity, 1}), {}).status(),
            absl::InvalidArgumentError("holds NaN or infinity"));
  EXPECT_EQ(MakeWeightCodes(Floats({2}, {1, 2}), channels).status(),
            absl::InvalidArgumentError("is [2] and has no axis 1 for channels"));
  // Of so many channels, none has an element.
  EXPECT_EQ(MakeWeightCodes(Floats({0, int64_t{1} << 60}, {}), channels).status(),
            absl::InvalidArgumentError("is [0, 1152921504606846976] and has no elements"));
  EXPECT_EQ(MakeWeightCodes(Tensor::FromValues<double>({1}, std::vector<double>{1}), {}).status(),
            absl::InvalidArgumentError("is of type FP64; want FP32"));
}

}  // namespace
}  // namespace fixpoint
