// How a float becomes a code, and a code a float again.

#include "ops/quant_math.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/code_dtype.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

constexpr QuantSpec::Rounding kAway = QuantSpec::HALF_AWAY_FROM_ZERO;
constexpr QuantSpec::Rounding kEven = QuantSpec::HALF_TO_EVEN;

std::vector<float> Codes(const std::vector<float>& values, float range, int bits,
                         QuantSpec::Rounding rounding) {
  std::vector<float> codes;
  for (const float value : values) {
    codes.push_back(QuantizeOne(value, range, SymmetricCodes(bits, rounding)));
  }
  return codes;
}

TEST(QuantMath, RoundsTiesAwayFromZeroOrToEven) {
  const std::vector<float> ties = {0.5f, 1.5f, 2.5f, -2.5f, 127.0f, -127.0f, -254.0f};
  EXPECT_THAT(Codes(ties, 127, 8, kAway), ElementsAre(1, 2, 3, -3, 127, -127, -127));
  EXPECT_THAT(Codes(ties, 127, 8, kEven), ElementsAre(0, 2, 2, -2, 127, -127, -128));
}

TEST(QuantMath, HasTheCodesOfEachBitLength) {
  const std::vector<float> values = {-1, 0.3f, 0.26f, 0.8f};
  EXPECT_THAT(Codes(values, 1, 2, kAway), ElementsAre(-1, 0, 0, 1));
  EXPECT_THAT(Codes(values, 1, 4, kAway), ElementsAre(-7, 2, 2, 6));
  EXPECT_THAT(Codes(values, 1, 16, kAway), ElementsAre(-32767, 9830, 8519, 26214));
}

TEST(QuantMath, OfARangeOfZeroIsZero) {
  EXPECT_THAT(Codes({0, 0}, 0, 8, kAway), ElementsAre(0, 0));
  EXPECT_THAT(Codes({1e-31f, -1e-31f}, 1e-31f, 8, kAway), ElementsAre(0, 0));
}

TEST(QuantMath, DequantizesFromTheLeft) {
  EXPECT_THAT(DequantizeOne(127, 3, 127), FloatEq(3));
  EXPECT_THAT(DequantizeOne(-64, 3, 127), FloatEq(-1.511811f));
  EXPECT_THAT(DequantizeOne(1, 3, 127), FloatEq(0.023622047f));
}

// Some machines multiply codes of -127 to 127.
TEST(QuantMath, ClampsToTheSmallestCodeThereIs) {
  CodeRange codes = SymmetricCodes(8, kEven);
  EXPECT_EQ(QuantizeOne(-2, 1, codes), -128);
  codes.smallest = -127;
  EXPECT_EQ(QuantizeOne(-2, 1, codes), -127);
  EXPECT_EQ(QuantizeOne(-2, 1, UnsignedPartOf(codes)), 0);
}

TEST(CodeRange, IsThatOfASpec) {
  QuantSpec spec;
  spec.set_bits(8);
  spec.set_signedness(QuantSpec::UNSIGNED);
  spec.set_scheme(QuantSpec::SYMMETRIC);
  spec.set_rounding(kAway);
  EXPECT_EQ(CodeRangeOf(spec), SymmetricCodes(9, kAway));
  spec.set_scheme(QuantSpec::AFFINE);
  EXPECT_EQ(CodeRangeOf(spec), (CodeRange{8, true, 0, 255, kAway}));
  spec.set_signedness(QuantSpec::SIGNED);
  EXPECT_EQ(CodeRangeOf(spec), (CodeRange{8, false, -128, 127, kAway}));
  spec.set_scheme(QuantSpec::SYMMETRIC);
  spec.set_rounding(kEven);
  EXPECT_EQ(CodeRangeOf(spec), SymmetricCodes(8, kEven));
}

TEST(CodeRange, HasARoundingForEachRoundType) {
  for (const QuantSpec::Rounding rounding : {kAway, kEven}) {
    EXPECT_EQ(*RoundingOfType(RoundTypeOf(rounding)), rounding);
  }
  EXPECT_EQ(RoundTypeOf(kEven), 0);
  EXPECT_EQ(RoundingOfType(2).status().message(), "round_type is 2; want 0 or 1");
}

TEST(CodeRange, HasTwoToSixteenBitsAndOneInOps) {
  EXPECT_FALSE(AreBits(1));
  EXPECT_TRUE(AreBits(1, kLeastBitsOfOps));
  EXPECT_TRUE(AreBits(2));
  EXPECT_TRUE(AreBits(16));
  EXPECT_FALSE(AreBits(17));
  EXPECT_TRUE(CheckBits("bit_length", 16).ok());
  EXPECT_EQ(CheckBits("quant_bits", 1).message(), "quant_bits is 1; want 2 to 16");
  EXPECT_EQ(CheckBits("bit_length", int64_t{1} << 40, kLeastBitsOfOps).message(),
            "bit_length is 1099511627776; want 1 to 16");
}

TEST(CodeDtype, IsThatOfAByteForEightBits) {
  EXPECT_EQ(CodeDtype(SymmetricCodes(8, kEven)), VarType::INT8);
  EXPECT_EQ(CodeDtype(AffineCodes(8, /*is_unsigned=*/true, kEven)), VarType::UINT8);
  EXPECT_EQ(CodeDtype(UnsignedPartOf(SymmetricCodes(9, kAway))), VarType::UINT8);
  EXPECT_EQ(CodeDtype(SymmetricCodes(9, kAway)), VarType::INT16);
  EXPECT_TRUE(FitByte(CodesOfByte(/*is_unsigned=*/false)));
  EXPECT_FALSE(FitByte(AffineCodes(9, /*is_unsigned=*/true, kEven)));
}

TEST(CodeRange, HoldsTheWholeNumbersBetweenItsEnds) {
  constexpr CodeRange kInt8 = CodesOfByte(/*is_unsigned=*/false);
  constexpr CodeRange kUint8 = CodesOfByte(/*is_unsigned=*/true);
  for (const int number : {-129, -128, -1, 0, 127, 128, 255, 256}) {
    EXPECT_EQ(IsCode(number, kInt8), number >= -128 && number <= 127);
    EXPECT_EQ(IsCode(static_cast<float>(number), kUint8), number >= 0 && number <= 255);
  }
  EXPECT_FALSE(IsCode(0.5f, kInt8));
  EXPECT_FALSE(IsCode(NAN, kUint8));
  EXPECT_FALSE(IsCode(INFINITY, kUint8));
  EXPECT_FALSE(IsCode(int64_t{1} << 32, kUint8));
}

}  // namespace
}  // namespace fixpoint
