#include "transpiler/freeze/weight_codes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

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
  options.scales = {0.5f};
  const auto made = MakeWeightCodes(Floats({3}, {0.25f, 3, -3}), options);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->codes.data<int8_t>(), ElementsAre(64, 127, -127));
  options.codes = SymmetricCodes(8, QuantSpec::HALF_TO_EVEN);  // which uses the lowest code, too
  EXPECT_THAT(MakeWeightCodes(Floats({3}, {0.25f, 3, -3}), options)->codes.data<int8_t>(),
              ElementsAre(64, 127, -128));
}

// By the reciprocal of the step: 0.1f * 30 is 3, and float(1 / 0.1f) * 0.25 is 2.5.
TEST(WeightCodes, OfAStoredStepHaveOneZeroPoint) {
  WeightCodesOptions options;
  options.codes = AffineCodes(8, /*is_unsigned=*/true, QuantSpec::HALF_TO_EVEN);
  options.affine = AffineParams{0.1f, 3};
  const auto made =
      MakeStoredAffineWeightCodes(Floats({2, 3}, {0, 0.25f, -0.4f, 3, 99, 0.1f}), options);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->codes.data<uint8_t>(), ElementsAre(3, 5, 0, 33, 255, 4));
  EXPECT_THAT(made->scales.data<float>(), ElementsAre(0.1f));
  EXPECT_THAT(made->zero_points->data<float>(), ElementsAre(3));
  options.codes = AffineCodes(4, /*is_unsigned=*/false, QuantSpec::HALF_TO_EVEN);
  EXPECT_THAT(MakeStoredAffineWeightCodes(Floats({2}, {9, -9}), options)->codes.data<int8_t>(),
              ElementsAre(7, -8));
  options.codes = AffineCodes(9, /*is_unsigned=*/false, QuantSpec::HALF_TO_EVEN);
  EXPECT_EQ(MakeStoredAffineWeightCodes(Floats({1}, {1}), options).status().message(),
            "has codes of 9 bits with a zero point; want up to 8, and one for all");
}

TEST(WeightCodes, RoundTiesAsTheQuantizerDoes) {
  const Tensor weight = Floats({4}, {127, 0.5f, -2.5f, 3.5f});
  EXPECT_THAT(MakeWeightCodes(weight, {})->codes.data<int8_t>(), ElementsAre(127, 1, -3, 4));
  WeightCodesOptions options;
  options.codes = SymmetricCodes(8, QuantSpec::HALF_TO_EVEN);
  EXPECT_THAT(MakeWeightCodes(weight, options)->codes.data<int8_t>(), ElementsAre(127, 0, -2, 4));
}

TEST(WeightCodes, OfMoreThan8BitsAreShorts) {
  WeightCodesOptions options;
  options.codes = SymmetricCodes(16, QuantSpec::HALF_AWAY_FROM_ZERO);
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

TEST(WeightCodes, OfChannelsWithScalesAreClippedToThem) {
  WeightCodesOptions options;
  options.codes = SymmetricCodes(4, QuantSpec::HALF_AWAY_FROM_ZERO);
  options.axis = 1;
  options.scales = {7, 14};
  const auto made = MakeWeightCodes(Floats({2, 2}, {3, 3, 100, -100}), options);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->codes.data<int8_t>(), ElementsAre(3, 2, 7, -7));
  EXPECT_THAT(made->scales.data<float>(), ElementsAre(7, 14));
}

TEST(WeightCodes, OfAScaleOf0Are0WhateverTheWeightIs) {
  for (const auto rounding : {QuantSpec::HALF_AWAY_FROM_ZERO, QuantSpec::HALF_TO_EVEN}) {
    WeightCodesOptions options;
    options.codes = SymmetricCodes(8, rounding);
    options.scales = {0.0f};
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
  WeightCodesOptions two_scales;
  two_scales.scales = {1, 2};
  EXPECT_EQ(MakeWeightCodes(Floats({2}, {1, 2}), two_scales).status(),
            absl::InvalidArgumentError(
                "is [2], and there are 2 scales; want one for each of the 1 channels"));
  // With so many channels, none has an element.
  EXPECT_EQ(MakeWeightCodes(Floats({0, int64_t{1} << 60}, {}), channels).status(),
            absl::InvalidArgumentError("is [0, 1152921504606846976] and has no elements"));
  EXPECT_EQ(MakeWeightCodes(Tensor::FromValues<double>({1}, std::vector<double>{1}), {}).status(),
            absl::InvalidArgumentError("is of type FP64; want FP32"));
}

Tensor OfBits(VarType::Type dtype, const std::vector<uint16_t>& bits) {
  absl::StatusOr<Tensor> tensor = Tensor::Allocate(dtype, {static_cast<int64_t>(bits.size())});
  std::memcpy(tensor->mutable_bytes().data(), bits.data(), bits.size() * sizeof(uint16_t));
  return *std::move(tensor);
}

TEST(AsFloat, KeepsEveryNumberOfASmallerType) {
  EXPECT_THAT(
      AsFloat(OfBits(VarType::FP16,
                     {0x0000, 0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x83ff, 0x7c00, 0xfc00}))
          ->data<float>(),
      ElementsAre(0, 1, -2, 65504, 0x1p-14f, 0x1p-24f, -1023 * 0x1p-24f, INFINITY, -INFINITY));
  EXPECT_TRUE(std::isnan(AsFloat(OfBits(VarType::FP16, {0x7e00}))->data<float>()[0]));
  EXPECT_THAT(AsFloat(OfBits(VarType::BF16, {0x0000, 0x3f80, 0xc049, 0xff80}))->data<float>(),
              ElementsAre(0, 1, -3.140625f, -INFINITY));
  EXPECT_THAT(AsFloat(Tensor::FromValues<int16_t>({2}, {-32768, 5}))->data<float>(),
              ElementsAre(-32768, 5));
  EXPECT_THAT(AsFloat(Tensor::FromValues<double>({2, 1}, {0.1, -2}))->data<float>(),
              ElementsAre(0.1f, -2));
}

TEST(AsFloat, RefusesWhatIsNoNumberOfAWeight) {
  EXPECT_EQ(AsFloat(Tensor::FromValues<int64_t>({1}, {1})).status(),
            absl::InvalidArgumentError("is of type INT64; want FP16, BF16, FP32 or FP64"));
}

}  // namespace
}  // namespace fixpoint
