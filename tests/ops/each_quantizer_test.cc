// What holds for every quantizer of the table, and for one that a user adds; and the specs that
// none of them supports.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/op_schema.h"
#include "ops/quantizer_table.h"
#include "tests/ops/quantizer_feeder.h"
#include "tests/ops/range_of_tensor.h"

namespace fixpoint {
namespace {

using ::testing::FloatNear;

// What holds for every row of the table, and for a quantizer that a user adds.
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

  // Whether ops of a formula find the range, so that there is no Observe.
  bool IsFormula() const { return !quantizer_.recipes()[0].scale_input.empty(); }

  // The largest number that a code stands for, and the distance between the largest and smallest.
  float ReachOf(float observed) const {
    return quantizer_.scheme() == QuantSpec::AFFINE ? observed * 255 : observed;
  }
  float ReachOf(float min, float max) const {
    return quantizer_.scheme() == QuantSpec::AFFINE ? std::max(max, 0.0f) - std::min(min, 0.0f)
                                                    : std::max(std::fabs(min), std::fabs(max));
  }
  // The range that it settles on if every tensor is `values`, according to the ops of its recipe.
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
  if (IsFormula()) return;
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
  if (IsFormula()) return;
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

// A quantizer that is always in test mode keeps no state.
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
      if (recipe.scale_input.empty()) {
        EXPECT_NE(quantize->FindOutput(recipe.scale_output, Era::kPaddle2), nullptr);
      } else {
        EXPECT_NE(quantize->FindInput(recipe.scale_input, Era::kPaddle2), nullptr);
      }
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

QuantSpec WithPercentile(double percentile) {
  QuantSpec spec = Spec(8, QuantSpec::SIGNED, QuantSpec::PER_TENSOR, QuantSpec::SYMMETRIC);
  spec.set_percentile(percentile);
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
       "quantizer abs_max: there is no parameter \"moving_rate\"; it has power_of_two_steps"},
      {"parameter out of range", "moving_average_abs_max", WithParameter("moving_rate", 1.5),
       "quantizer moving_average_abs_max: moving_rate is 1.5; it goes from 0 to 1"},
      {"parameter that is no number", "moving_average_abs_max",
       WithParameter("moving_rate", std::nan("")),
       "quantizer moving_average_abs_max: moving_rate is nan; it goes from 0 to 1"},
      {"part of a step", "range_abs_max", WithParameter("window_size", 2.5),
       "quantizer range_abs_max: window_size is 2.5; want an integer"},
      {"half a switch", "moving_average_abs_max", WithParameter("skip_non_finite", 0.5),
       "quantizer moving_average_abs_max: skip_non_finite is 0.5; want an integer"},
      {"all clipped", "abs_max", WithPercentile(0),
       "quantizer abs_max: percentile is 0; want more than 0 and at most 100"},
      {"more than all", "abs_max", WithPercentile(100.5),
       "quantizer abs_max: percentile is 100.5; want more than 0 and at most 100"},
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
