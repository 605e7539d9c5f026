// The arithmetic of every quantizer, against sequences that the reference was seen to give and
// against sums made by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/op_schema.h"
#include "ops/quantizer_table.h"
#include "proto/op_builder.h"
#include "tests/ops/range_of_tensor.h"
#include "tests/testing/norm_quantizer.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;
using ::testing::Pointwise;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The table, and a quantizer whose range is not that of the largest absolute value.
QuantizerTable TableWithNorm() {
  QuantizerTable table;
  EXPECT_TRUE(table.Add(std::make_unique<NormQuantizer>()).ok());
  return table;
}

// A quantizer with its state, fed tensors of one value: the largest absolute value is all that
// most of them see.
class Feeder {
 public:
  explicit Feeder(absl::string_view quantizer, const QuantSpec& spec = {})
      : quantizer_(*table_.Find(quantizer)), spec_(spec) {
    Fill([&](const QuantizerState& state) { return quantizer_.InitialValue(state, spec_); });
  }
  // One that begins with the range of a profile.
  Feeder(absl::string_view quantizer, const QuantSpec& spec, float min, float max)
      : quantizer_(*table_.Find(quantizer)), spec_(spec) {
    Fill([&](const QuantizerState& state) {
      return quantizer_.ValueOfRange(state, spec_, min, max);
    });
  }

  float Feed(const std::vector<float>& values) {
    std::vector<absl::Span<float>> spans;
    for (std::vector<float>& state : state_) spans.push_back(absl::MakeSpan(state));
    return quantizer_.Observe(spec_, values, spans, ++step_);
  }
  std::vector<float> FeedAll(const std::vector<float>& sequence) {
    std::vector<float> scales;
    for (const float value : sequence) scales.push_back(Feed({value}));
    return scales;
  }
  const std::vector<float>& state(int index) const { return state_[index]; }

 private:
  template <typename ValueOf>
  void Fill(const ValueOf& value_of) {
    for (const QuantizerState& state : quantizer_.recipes().front().state) {
      const size_t extent = state.extent == QuantizerState::Extent::kWindow
                                ? static_cast<size_t>(Parameter(quantizer_, spec_, "window_size"))
                                : 1;
      state_.emplace_back(extent, static_cast<float>(value_of(state)));
    }
  }

  const QuantizerTable table_ = TableWithNorm();
  const Quantizer& quantizer_;
  const QuantSpec spec_;
  std::vector<std::vector<float>> state_;
  int64_t step_ = 0;
};

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

TEST(FixedAbsMax, IsWhatItIsToldWhateverItSees) {
  Feeder feeder("fixed_abs_max", With("range", 6));
  EXPECT_THAT(feeder.FeedAll({1, 40, 0}), ElementsAre(6, 6, 6));
}

QuantSpec Affine(QuantSpec::Signedness signedness) {
  QuantSpec spec;
  spec.set_bits(8);
  spec.set_signedness(signedness);
  return spec;
}

TEST(MovingAverageMinMax, PutsZeroOnACode) {
  // Of [-1, 3]: a step of 4 / 255, and the code 64 (63.75) for 0.
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

TEST(RangeAbsMax, ForgetsAProfileAfterAWindow) {
  Feeder feeder("range_abs_max", With("window_size", 3), -50, 100);
  EXPECT_THAT(feeder.FeedAll({5, 3, 4, 2}), ElementsAre(100, 100, 5, 4));
}

// 2 * mean|x| / sqrt(n) for a step, so that the range is 2 * mean|x| * sqrt(n).
TEST(Lsq, FindsItsRangeInTheFirstTensor) {
  Feeder feeder("lsq", Bits(8));
  EXPECT_THAT(feeder.Feed({-1, 3, 0, 4}), FloatEq(4 * std::sqrt(127.0f)));
  EXPECT_THAT(feeder.Feed({100}), FloatEq(4 * std::sqrt(127.0f))) << "training moves it from there";
  QuantSpec without_sign = Bits(2);
  without_sign.set_signedness(QuantSpec::UNSIGNED);
  Feeder unsigned_codes("lsq", without_sign);
  EXPECT_THAT(unsigned_codes.Feed({1, 1}), FloatEq(2 * std::sqrt(3.0f)));
}

TEST(Lsq, WaitsForATensorThatTellsIt) {
  Feeder feeder("lsq", Bits(2));
  EXPECT_EQ(feeder.Feed({0, 0}), 0);
  EXPECT_EQ(feeder.Feed({}), 0);
  EXPECT_EQ(feeder.Feed({kInfinity}), kInfinity);
  EXPECT_TRUE(std::isnan(feeder.Feed({kNan, 1})));
  EXPECT_EQ(feeder.Feed({1}), 2);
  EXPECT_EQ(feeder.Feed({5}), 2);
}

TEST(Lsq, BeginsWithTheRangeOfAProfile) {
  Feeder feeder("lsq", Bits(8), -3, 2);
  EXPECT_EQ(feeder.Feed({100}), 3);
}

// What holds of every row of the table, and of a quantizer that a user adds to it.
class EachQuantizer : public testing::TestWithParam<std::string> {
 protected:
  EachQuantizer() : quantizer_(*table_.Find(GetParam())) {
    spec_.set_bits(8);
    spec_.set_signedness(QuantSpec::SIGNED);
    spec_.set_granularity(quantizer_.granularity());
    spec_.set_scheme(quantizer_.scheme());
    for (const QuantizerParameter& parameter : quantizer_.parameters()) {
      if (parameter.name == "window_size") (*spec_.mutable_parameters())["window_size"] = kWindow;
    }
  }

  // Whether the range follows what is seen; else, but for training, it is what it began with.
  bool Follows() const {
    const QuantizerRecipe& recipe = quantizer_.recipes()[0];
    const bool is_trained =
        std::any_of(recipe.state.begin(), recipe.state.end(),
                    [](const QuantizerState& state) { return state.is_trained; });
    return quantizer_.is_dynamic() || (recipe.has_is_test && !is_trained);
  }

  // The largest number that a code stands for, and the distance between the largest and smallest.
  float ReachOf(float observed) const {
    return quantizer_.scheme() == QuantSpec::AFFINE ? observed * 255 : observed;
  }
  float ReachOf(float min, float max) const {
    return quantizer_.scheme() == QuantSpec::AFFINE ? std::max(max, 0.0f) - std::min(min, 0.0f)
                                                    : std::max(std::fabs(min), std::fabs(max));
  }
  // What it settles on where each tensor is `values`, as the ops of its recipe say.
  float ReachOf(const std::vector<float>& values) const {
    if (quantizer_.scheme() == QuantSpec::AFFINE) {
      const auto [min, max] = std::minmax_element(values.begin(), values.end());
      return ReachOf(*min, *max);
    }
    const absl::StatusOr<float> range = RangeOfTensor(quantizer_, spec_, values);
    EXPECT_TRUE(range.ok()) << range.status();
    return range.value_or(0);
  }

  static constexpr int kWindow = 8;
  const QuantizerTable table_ = TableWithNorm();
  const Quantizer& quantizer_;
  QuantSpec spec_;
};

std::vector<std::vector<float>> Tensors() {
  return {{-3, 2}, {0, 2}, {1, 5}, {-5, -1}, {0.25f, -1, 0.5f, 2, 0}};
}

// Also that Observe and the ops that are written into a program compute the same.
TEST_P(EachQuantizer, SettlesOnTheRangeThatItsOpsComputeOfWhatIsAlwaysTheSame) {
  if (!Follows()) return;
  for (const std::vector<float>& values : Tensors()) {
    Feeder feeder(GetParam(), spec_);
    float observed = 0;
    for (int step = 0; step < 300; ++step) observed = feeder.Feed(values);
    EXPECT_THAT(ReachOf(observed), FloatNear(ReachOf(values), 1e-4f))
        << testing::PrintToString(values);
  }
}

TEST_P(EachQuantizer, GivesAFiniteRangeOfFiniteNumbers) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Feeder feeder(GetParam(), spec_);
  for (int step = 0; step < 100; ++step) {
    const float size = std::pow(10.0f, 10 * normal(random));
    const float observed = feeder.Feed({size * normal(random), 0, size * normal(random)});
    ASSERT_TRUE(std::isfinite(observed)) << "at step " << step;
    ASSERT_GE(observed, 0) << "at step " << step;
  }
}

// Where the range is that of the profile, it stays; a quantizer that clips goes from there to the
// range that it settles on, and never beyond either.
TEST_P(EachQuantizer, KeepsAProfileThatIsRight) {
  for (const std::vector<float>& values : Tensors()) {
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    const float profiled = ReachOf(*min, *max);
    const float settled = Follows() ? ReachOf(values) : profiled;
    Feeder feeder(GetParam(), spec_, *min, *max);
    for (int step = 0; step < 3 * kWindow; ++step) {
      const float reach = ReachOf(feeder.Feed(values));
      ASSERT_GE(reach, std::min(profiled, settled) - 1e-5f)
          << testing::PrintToString(values) << " at step " << step;
      ASSERT_LE(reach, std::max(profiled, settled) + 1e-5f)
          << testing::PrintToString(values) << " at step " << step;
    }
  }
}

TEST_P(EachQuantizer, ForgetsAProfileThatIsWrong) {
  if (!Follows()) return;
  Feeder feeder(GetParam(), spec_, -100, 50);
  float observed = 0;
  for (int step = 0; step < 300; ++step) observed = feeder.Feed({-3, 2});
  EXPECT_THAT(ReachOf(observed), FloatNear(ReachOf({-3, 2}), 1e-4f));
}

TEST_P(EachQuantizer, IsDescribedInASentence) {
  EXPECT_EQ(std::string(quantizer_.doc()).back(), '.');
  for (const QuantizerParameter& parameter : quantizer_.parameters()) {
    EXPECT_NE(parameter.doc, "") << parameter.name;
    EXPECT_LE(parameter.min, parameter.default_value) << parameter.name;
    EXPECT_GE(parameter.max, parameter.default_value) << parameter.name;
  }
}

void ExpectSlotsOfState(const QuantizerRecipe& recipe, const OpSchema& quantize) {
  for (const QuantizerState& state : recipe.state) {
    if (!state.input.empty()) {
      EXPECT_NE(quantize.FindInput(state.input, Era::kPaddle2), nullptr) << state.input;
    }
    if (!state.output.empty()) {
      EXPECT_NE(quantize.FindOutput(state.output, Era::kPaddle2), nullptr) << state.output;
    }
  }
}

// One that is in test mode for good carries nothing on.
void ExpectTrainingStateOfOp(const QuantizerRecipe& recipe, const OpSchema& quantize) {
  if (!recipe.has_is_test) return;
  for (const StateSlots& slots : quantize.training_state()) {
    const auto is_it = [&](const QuantizerState& state) {
      return state.input == slots.input && state.output == slots.output;
    };
    EXPECT_TRUE(slots.input == recipe.step_counter_input ||
                std::any_of(recipe.state.begin(), recipe.state.end(), is_it))
        << slots.input << " -> " << slots.output;
  }
}

TEST_P(EachQuantizer, HasRecipesWhoseOpsAreKnown) {
  EXPECT_FALSE(quantizer_.recipes().empty());
  for (const auto recipes : {quantizer_.recipes(), quantizer_.observers()}) {
    for (const QuantizerRecipe& recipe : recipes) {
      SCOPED_TRACE(recipe.quantize_op);
      const OpSchema* quantize = FindOpSchema(recipe.quantize_op);
      ASSERT_NE(quantize, nullptr);
      EXPECT_NE(quantize->quant_op(), QuantOp::kNone);
      EXPECT_NE(quantize->FindOutput(recipe.scale_output, Era::kPaddle2), nullptr);
      ExpectSlotsOfState(recipe, *quantize);
      ExpectTrainingStateOfOp(recipe, *quantize);
      if (recipe.dequantize_op.empty()) continue;
      const OpSchema* dequantize = FindOpSchema(recipe.dequantize_op);
      ASSERT_NE(dequantize, nullptr) << recipe.dequantize_op;
      EXPECT_EQ(dequantize->quant_op(), QuantOp::kDequantize);
      EXPECT_NE(dequantize->FindInput(recipe.scale_input_of_dequantize, Era::kPaddle2), nullptr);
    }
  }
}

std::vector<std::string> QuantizerNames() {
  const QuantizerTable table = TableWithNorm();
  std::vector<std::string> names;
  for (const auto& quantizer : table.all()) names.emplace_back(quantizer->name());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Table, EachQuantizer, testing::ValuesIn(QuantizerNames()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

TEST(MovingAverageAbsMax, TellsObserversToSkipWhatIsNotFinite) {
  const QuantizerTable table;
  OpBuilder observe("moving_average_abs_max_scale");
  table.Find("moving_average_abs_max")->AddObserverAttrs(With("skip_non_finite", 1), observe);
  ASSERT_EQ(observe.op().attrs_size(), 2);
  EXPECT_EQ(observe.op().attrs(1).name(), "skip_non_finite");
  EXPECT_TRUE(observe.op().attrs(1).b());
}

struct BadSpec {
  const char* name;
  const char* quantizer;
  QuantSpec spec;
  const char* message;
};

QuantSpec Spec(int bits, QuantSpec::Signedness signedness, QuantSpec::Granularity granularity,
               QuantSpec::Scheme scheme) {
  QuantSpec spec;
  spec.set_bits(bits);
  spec.set_signedness(signedness);
  spec.set_granularity(granularity);
  spec.set_scheme(scheme);
  return spec;
}

QuantSpec WithParameter(absl::string_view parameter, double value) {
  QuantSpec spec = Spec(8, QuantSpec::SIGNED, QuantSpec::PER_TENSOR, QuantSpec::SYMMETRIC);
  (*spec.mutable_parameters())[std::string(parameter)] = value;
  return spec;
}

TEST(Quantizers, RefuseWhatTheyCannotDo) {
  const BadSpec kBadSpecs[] = {
      {"one bit", "abs_max",
       Spec(1, QuantSpec::SIGNED, QuantSpec::PER_TENSOR, QuantSpec::SYMMETRIC),
       "quantizer abs_max: bits is 1; it goes from 2 to 16"},
      {"17 bits", "abs_max",
       Spec(17, QuantSpec::SIGNED, QuantSpec::PER_TENSOR, QuantSpec::SYMMETRIC),
       "quantizer abs_max: bits is 17; it goes from 2 to 16"},
      {"16 unsigned bits", "abs_max",
       Spec(16, QuantSpec::UNSIGNED, QuantSpec::PER_TENSOR, QuantSpec::SYMMETRIC),
       "quantizer abs_max: 16 bits are signed; unsigned codes have at most 15"},
      {"channels", "abs_max",
       Spec(8, QuantSpec::SIGNED, QuantSpec::PER_CHANNEL, QuantSpec::SYMMETRIC),
       "quantizer abs_max: granularity is PER_CHANNEL; it computes PER_TENSOR"},
      {"zero point", "abs_max",
       Spec(8, QuantSpec::SIGNED, QuantSpec::PER_TENSOR, QuantSpec::AFFINE),
       "quantizer abs_max: scheme is AFFINE; it computes SYMMETRIC"},
      {"parameter of another", "abs_max", WithParameter("moving_rate", 0.5),
       "quantizer abs_max: there is no parameter \"moving_rate\"; it has none"},
      {"parameter out of range", "moving_average_abs_max", WithParameter("moving_rate", 1.5),
       "quantizer moving_average_abs_max: moving_rate is 1.5; it goes from 0 to 1"},
      {"parameter that is no number", "moving_average_abs_max",
       WithParameter("moving_rate", std::nan("")),
       "quantizer moving_average_abs_max: moving_rate is nan; it goes from 0 to 1"},
      {"part of a step", "range_abs_max", WithParameter("window_size", 2.5),
       "quantizer range_abs_max: window_size is 2.5; want an integer"},
      {"half a switch", "moving_average_abs_max", WithParameter("skip_non_finite", 0.5),
       "quantizer moving_average_abs_max: skip_non_finite is 0.5; want an integer"},
      {"misspelt parameter", "range_abs_max", WithParameter("window", 3),
       "quantizer range_abs_max: there is no parameter \"window\"; it has window_size, "
       "initial_scale"},
  };
  const QuantizerTable table;
  for (const BadSpec& bad : kBadSpecs) {
    EXPECT_EQ(std::string(CheckSpec(*table.Find(bad.quantizer), bad.spec).message()), bad.message)
        << bad.name;
  }
}

}  // namespace
}  // namespace fixpoint
