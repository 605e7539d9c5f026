#include "ops/codes/held_codes.h"

#include <gtest/gtest.h>

namespace fixpoint {
namespace {

constexpr auto kToEven = QuantSpec::HALF_TO_EVEN;

TEST(CodesHeldOf, AreThoseOfEightBitsAndFewer) {
  for (const int bits : {1, 4, 8}) {
    EXPECT_EQ(CodesHeldOf(SymmetricCodes(bits, kToEven), false), SymmetricCodes(bits, kToEven));
    EXPECT_EQ(CodesHeldOf(AffineCodes(bits, true, kToEven), false),
              AffineCodes(bits, true, kToEven));
  }
}

TEST(CodesHeldOf, AreUnsignedWhereNineBitsHaveNoNegativeCode) {
  const CodeRange nine = SymmetricCodes(9, kToEven);
  const std::optional<CodeRange> held = CodesHeldOf(nine, /*is_never_negative=*/true);
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->is_unsigned);
  EXPECT_EQ(held->smallest, 0);
  EXPECT_EQ(held->largest, 255);
  EXPECT_EQ(CodesHeldOf(nine, /*is_never_negative=*/false), std::nullopt);
}

// What signed codes hold is held so.
TEST(CodesHeldOf, AreSignedWhereThoseSuffice) {
  EXPECT_FALSE(CodesHeldOf(SymmetricCodes(8, kToEven), true)->is_unsigned);
}

TEST(CodesHeldOf, AreNoneWhereEightBitsDoNotHoldThem) {
  EXPECT_EQ(CodesHeldOf(SymmetricCodes(10, kToEven), true), std::nullopt);
  EXPECT_EQ(CodesHeldOf(AffineCodes(9, true, kToEven), true), std::nullopt);
  EXPECT_EQ(CodesHeldOf(AffineCodes(9, false, kToEven), false), std::nullopt);
}

TEST(CodesHeldOf, AreNoneOfAnOpThatGivesOtherFloatsThanTheirs) {
  CodeOp op;
  op.codes = SymmetricCodes(8, kToEven);
  EXPECT_EQ(CodesHeldOf(op, false), op.codes);
  op.multiplies_by_step = true;
  EXPECT_EQ(CodesHeldOf(op, false), std::nullopt);
}

// Whatever the floats are, affine codes go down to the smallest.
TEST(CodesHeldOf, AreNeverAPartOfAffineCodes) {
  CodeOp op;
  op.codes = AffineCodes(9, /*is_unsigned=*/false, kToEven);
  op.scales_are_steps = true;
  EXPECT_EQ(CodesHeldOf(op, /*is_never_negative=*/true), std::nullopt);
}

TEST(CodesHeldOf, OfASpecAreThoseOfItsOps) {
  QuantSpec spec;
  spec.set_bits(8);
  spec.set_signedness(QuantSpec::UNSIGNED);
  spec.set_rounding(kToEven);
  spec.set_scheme(QuantSpec::SYMMETRIC);
  EXPECT_EQ(CodesHeldOf(spec, true), UnsignedPartOf(SymmetricCodes(9, kToEven)));
  EXPECT_EQ(CodesHeldOf(spec, false), std::nullopt);
  spec.set_scheme(QuantSpec::AFFINE);
  EXPECT_EQ(CodesHeldOf(spec, true), AffineCodes(8, /*is_unsigned=*/true, kToEven));
  spec.set_bits(9);
  spec.set_signedness(QuantSpec::SIGNED);
  EXPECT_EQ(CodesHeldOf(spec, true), std::nullopt);
}

}  // namespace
}  // namespace fixpoint
