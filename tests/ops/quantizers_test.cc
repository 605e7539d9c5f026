// The arithmetic of every quantizer, against sequences that the reference was seen to give and
// against sums made by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/power_of_two_range.h"
#include "ops/quant_math.h"
#include "ops/quantizer_table.h"
#include "proto/program/op_builder.h"
#include "tests/ops/quantizer_feeder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;
using ::testing::Pointwise;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

QuantSpec With(absl::string_view parameter, double value) {
  QuantSpec spec;
  (*spec.mutable_parameters())[std::string(parameter)] = value;
  return spec;
}

QuantSpec Bits(int bits) {
  QuantSpec spec;
  spec.set_bits(bits);
  return spec;
}

TEST(AbsMax, SkipsANanButForTheFirst) {
  Feeder feeder("abs_max");
  EXPECT_TRUE(std::isnan(feeder.Feed({kNan, 1, 2, 3})));
  EXPECT_EQ(feeder.Feed({1, kNan, 2, 3}), 3);
  EXPECT_EQ(feeder.Feed({kInfinity, 1, -2, 3}), kInfinity);
  EXPECT_EQ(feeder.Feed({0, 0}), 0);
  EXPECT_EQ(feeder.Feed({}), 0);
  EXPECT_EQ(feeder.Feed({-5, 4}), 5);
}

TEST(RangeAbsMax, ForgetsTheLargestValueWhenItLeavesTheWindow) {
  Feeder feeder("range_abs_max", With("window_size", 3));
  EXPECT_THAT(feeder.FeedAll({5, 3, 4, 2, 1, 1, 0.5f, 6, 1, 1, 1, 1}),
              ElementsAre(5, 5, 5, 4, 4, 2, 1, 6, 6, 6, 1, 1));
  EXPECT_THAT(feeder.state(1), ElementsAre(1, 1, 1));
}

// The reference's initial scale of 0.001 can never be "removed", so that it is a lower bound.
TEST(RangeAbsMax, StaysAboveItsInitialScale) {
  Feeder as_the_reference("range_abs_max", With("window_size", 2));
  EXPECT_THAT(as_the_reference.FeedAll({1e-4f, 1e-4f, 1e-4f}), ElementsAre(0.001f, 0.001f, 0.001f));
  QuantSpec without = With("window_size", 2);
  (*without.mutable_parameters())["initial_scale"] = 0;
  Feeder unbounded("range_abs_max", without);
  EXPECT_THAT(unbounded.FeedAll({1e-4f, 1e-4f, 1e-4f}), ElementsAre(1e-4f, 1e-4f, 1e-4f));
}

// Before the window is full, the reference looks for the maximum where the newest value is not yet.
TEST(RangeAbsMax, MissesTheNewestOfTinyValuesAsTheReferenceDoes) {
  QuantSpec spec = With("window_size", 4);
  (*spec.mutable_parameters())["initial_scale"] = 5e-7;
  Feeder feeder("range_abs_max", spec);
  EXPECT_THAT(feeder.FeedAll({1e-7f, 2e-7f}), ElementsAre(0, 2e-7f));
}

TEST(WindowMeanAbsMax, AveragesWhatItHasSeen) {
  Feeder feeder("window_mean_abs_max", With("window_size", 3));
  EXPECT_THAT(feeder.FeedAll({6, -2, 1, 3, 2}), ElementsAre(6, 4, 3, 2, 2));
  EXPECT_THAT(feeder.state(1), ElementsAre(3, 2, 1));
}

TEST(MovingAverageAbsMax, IsTheReferencesSequence) {
  Feeder feeder("moving_average_abs_max");
  EXPECT_THAT(feeder.FeedAll({2, 4, 1}),
              Pointwise(FloatNear(1e-6f), {1.5263158f, 2.4391143f, 2.0206456f}));
  EXPECT_THAT(feeder.state(1)[0], FloatNear(3.439f, 1e-6f));
  EXPECT_THAT(feeder.state(2)[0], FloatNear(6.949f, 1e-6f));
}

TEST(MovingAverageAbsMax, CountsAFirstObservationThatNobodyMadeUnlessToldNotTo) {
  Feeder as_the_reference("moving_average_abs_max");
  EXPECT_THAT(as_the_reference.Feed({0.01f}), FloatNear(0.4789474f, 1e-6f));
  Feeder debiased("moving_average_abs_max", With("initial_state", 0));
  EXPECT_THAT(debiased.Feed({0.01f}), FloatEq(0.01f));
  // (0.9 * 0.01 + 0.03) / (0.9 + 1)
  EXPECT_THAT(debiased.Feed({0.03f}), FloatNear(0.0205263f, 1e-6f));
}

TEST(MovingAverageAbsMax, IsPoisonedByInfinityUnlessToldToSkipIt) {
  Feeder as_the_reference("moving_average_abs_max");
  as_the_reference.Feed({kInfinity});
  EXPECT_EQ(as_the_reference.Feed({1}), kInfinity) << "for ever";
  Feeder skipping("moving_average_abs_max", With("skip_non_finite", 1));
  EXPECT_THAT(skipping.Feed({kNan, 2, kInfinity}), FloatNear(1.5263158f, 1e-6f));
  EXPECT_THAT(skipping.Feed({4, -kInfinity}), FloatNear(2.4391143f, 1e-6f));
}

// The least step that does not clip: of 8 bits, the range is 127 steps.
TEST(PowerOfTwoRange, IsTheLeastWhoseStepIsAPowerOfTwo) {
  EXPECT_EQ(PowerOfTwoRange(127, 127), 127);
  EXPECT_EQ(PowerOfTwoRange(std::nextafter(127.0f, 200.0f), 127), 254);
  EXPECT_EQ(PowerOfTwoRange(1, 127), 127.0f / 64);
  EXPECT_EQ(PowerOfTwoRange(1, 1), 1);
  EXPECT_EQ(PowerOfTwoRange(1e-30f, 127), std::ldexp(127.0f, -99)) << "not a range of 0";
  EXPECT_EQ(PowerOfTwoRange(1e-38f, 127), std::ldexp(127.0f, -99));
  EXPECT_EQ(PowerOfTwoRange(0, 127), 127) << "the step 1, of a tensor of zeros";
  EXPECT_EQ(PowerOfTwoRange(kInfinity, 127), kInfinity);
  EXPECT_TRUE(std::isnan(PowerOfTwoRange(kNan, 127)));
}

// n * (1 / (n * 2^k)) is 2^-k, so that codes are those of a shift.
TEST(PowerOfTwoRange, HasAMultiplierThatIsAPowerOfTwo) {
  for (int bits = 1; bits <= 16; ++bits) {
    const auto largest = static_cast<float>((1 << bits) - 1);
    for (int k = -90; k <= 90; ++k) {
      ASSERT_EQ(largest * InverseRange(std::ldexp(largest, k)), std::ldexp(1.0f, -k))
          << bits << " bits, 2^" << k;
    }
  }
}

TEST(PowerOfTwoSteps, WidenWhatEachQuantizerFinds) {
  QuantSpec spec = With(kPowerOfTwoStepsAttr, 1);
  spec.set_bits(8);
  EXPECT_EQ(Feeder("abs_max", spec).Feed({3}), 127.0f / 32);
  EXPECT_EQ(Feeder("channel_wise_abs_max", spec).Feed({1, -2}), 127.0f / 32);
  EXPECT_EQ(Feeder("fixed_abs_max", spec, -6, 5).Feed({1}), 127.0f / 16);
  EXPECT_THAT(Feeder("window_mean_abs_max", spec).FeedAll({6, 2}),
              ElementsAre(127.0f / 16, 127.0f / 16));
  Feeder average("moving_average_abs_max", spec);
  EXPECT_THAT(average.FeedAll({2, 4}), ElementsAre(127.0f / 64, 127.0f / 32));
  EXPECT_THAT(average.state(2)[0], FloatNear(6.61f, 1e-6f)) << "the average is of what was seen";
}

TEST(FixedAbsMax, IsWhatItIsToldWhateverItSees) {
  Feeder feeder("fixed_abs_max", With("range", 6));
  EXPECT_THAT(feeder.FeedAll({1, 40, 0}), ElementsAre(6, 6, 6));
}

QuantSpec Affine(QuantSpec::Signedness signedness) {
  QuantSpec spec;
  spec.set_bits(8);
  spec.set_signedness(signedness);
  spec.set_scheme(QuantSpec::AFFINE);
  return spec;
}

TEST(MovingAverageMinMax, PutsZeroOnACode) {
  // The range [-1, 3] gives a step of 4 / 255, and the code 64 (63.75) for 0.
  Feeder unsigned_codes("moving_average_min_max", Affine(QuantSpec::UNSIGNED));
  EXPECT_THAT(unsigned_codes.Feed({-1, 3}), FloatEq(4.0f / 255));
  EXPECT_EQ(unsigned_codes.state(1)[0], 64);
  Feeder signed_codes("moving_average_min_max", Affine(QuantSpec::SIGNED));
  signed_codes.Feed({-1, 3});
  EXPECT_EQ(signed_codes.state(1)[0], -64);
}

TEST(MovingAverageMinMax, IsWidenedToHoldZero) {
  Feeder above("moving_average_min_max", Affine(QuantSpec::UNSIGNED));
  EXPECT_THAT(above.Feed({2, 5}), FloatEq(5.0f / 255));
  EXPECT_EQ(above.state(1)[0], 0);
  Feeder below("moving_average_min_max", Affine(QuantSpec::UNSIGNED));
  EXPECT_THAT(below.Feed({-5, -2}), FloatEq(5.0f / 255));
  EXPECT_EQ(below.state(1)[0], 255);
}

TEST(MovingAverageMinMax, OfZerosHasAStepOfOne) {
  Feeder feeder("moving_average_min_max", Affine(QuantSpec::UNSIGNED));
  EXPECT_EQ(feeder.Feed({0, 0}), 1);
  EXPECT_EQ(feeder.state(1)[0], 0);
}

TEST(MovingAverageMinMax, AveragesBothEnds) {
  Feeder feeder("moving_average_min_max", Affine(QuantSpec::UNSIGNED));
  feeder.Feed({-1, 1});
  // Ends (0.9 * -1 - 3) / 1.9 and (0.9 * 1 + 2) / 1.9.
  EXPECT_THAT(feeder.Feed({-3, 2}), FloatNear((3.9f + 2.9f) / 1.9f / 255, 1e-7f));
}

TEST(MovingAverageMinMax, OfNextToNothingHasAStepOfOne) {
  Feeder feeder("moving_average_min_max", Affine(QuantSpec::UNSIGNED));
  EXPECT_EQ(feeder.Feed({-1e-44f, 1e-44f}), 1);
  EXPECT_EQ(feeder.state(1)[0], 0);
  Feeder profiled("moving_average_min_max", Affine(QuantSpec::UNSIGNED), -1e-44f, 1e-44f);
  EXPECT_EQ(profiled.state(0)[0], 1);
  EXPECT_EQ(profiled.state(1)[0], 0);
}

// The range is more than a float holds.
TEST(MovingAverageMinMax, HasAStepForTheLargestNumbers) {
  Feeder feeder("moving_average_min_max", Affine(QuantSpec::UNSIGNED));
  EXPECT_THAT(feeder.Feed({-3e38f, 3e38f}), FloatEq(2 * (3e38f / 255)));
  EXPECT_EQ(feeder.state(1)[0], 128);
}

TEST(MovingAverageMinMax, OfAProfileIsWidenedToHoldZero) {
  Feeder feeder("moving_average_min_max", Affine(QuantSpec::SIGNED), 2, 4);
  EXPECT_THAT(feeder.state(0)[0], FloatEq(4.0f / 255));
  EXPECT_EQ(feeder.state(1)[0], -128);
  EXPECT_THAT(feeder.Feed({2, 4}), FloatEq(4.0f / 255));
  EXPECT_EQ(feeder.state(1)[0], -128) << "the smallest value is 0 still";
}

// The range of one row, found anew each time.
TEST(RowWiseMinMax, PutsZeroOnACodeOfEachRow) {
  Feeder feeder("row_wise_min_max", Bits(8));
  EXPECT_THAT(feeder.Feed({-1, 3}), FloatEq(4.0f / 255));
  EXPECT_EQ(feeder.state(0)[0], -64) << "-128 + 63.75, rounded";
  EXPECT_THAT(feeder.Feed({2, 5}), FloatEq(5.0f / 255)) << "widened to hold 0";
  EXPECT_EQ(feeder.state(0)[0], -128);
  EXPECT_EQ(feeder.Feed({0, 0}), 1);
  EXPECT_THAT(feeder.Feed({-3, NAN, INFINITY}), FloatEq(3.0f / 255));
  EXPECT_EQ(feeder.state(0)[0], 127);
}

TEST(RangeAbsMax, ForgetsAProfileAfterAWindow) {
  Feeder feeder("range_abs_max", With("window_size", 3), -50, 100);
  EXPECT_THAT(feeder.FeedAll({5, 3, 4, 2}), ElementsAre(100, 100, 5, 4));
}

TEST(MovingAverageAbsMax, TellsObserversToSkipWhatIsNotFinite) {
  const QuantizerTable table;
  OpBuilder observe("moving_average_abs_max_scale");
  table.Find("moving_average_abs_max")->AddObserverAttrs(With("skip_non_finite", 1), observe);
  ASSERT_EQ(observe.op().attrs_size(), 2);
  EXPECT_EQ(observe.op().attrs(1).name(), "skip_non_finite");
  EXPECT_TRUE(observe.op().attrs(1).b());
}

}  // namespace
}  // namespace fixpoint
