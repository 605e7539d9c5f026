// Networks with learned ranges train.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "ops/optimizer.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/quant_spec.pb.h"
#include "tests/runtime/reference/digits_training.h"

namespace fixpoint::reference {
namespace {

QuantConfig Lsq(int bits) {
  QuantConfig config;
  config.set_target("onednn_int8");
  for (QuantSpec* spec : {config.mutable_weights(), config.mutable_activations()}) {
    spec->set_quantizer("lsq");
    spec->set_form(QuantSpec::FUSED);
    spec->set_bits(bits);
  }
  return config;
}

std::map<std::string, double> Ranges(const DigitsTraining& training) {
  std::map<std::string, double> ranges;
  for (const std::string& name : training.NamesWith("@scale")) {
    ranges[name] = training.Values(name)[0];
  }
  return ranges;
}

double MeanOf(const std::vector<double>& values, size_t begin, size_t end) {
  return std::accumulate(values.begin() + begin, values.begin() + end, 0.0) / (end - begin);
}

// The paper trains 8 bits at a tenth of the rate of fewer: a step beyond the largest code moves its
// range by as many codes.
struct Recipe {
  int bits;
  float rate;
  int steps;
};

void PrintTo(const Recipe& recipe, std::ostream* out) { *out << recipe.bits << " bits"; }

class LsqTraining : public testing::TestWithParam<Recipe> {};

TEST_P(LsqTraining, TheLossFallsAndTheRangesMove) {
  DigitsOptions options;
  options.optimizer = Optimizer(Momentum(0.9f), GetParam().rate);
  DigitsTraining training(Lsq(GetParam().bits), options);
  std::vector<double> losses = training.Train(1);
  const std::map<std::string, double> first = Ranges(training);
  ASSERT_EQ(first.size(), 4) << "of two weights and two activations";
  for (int step = 1; step < GetParam().steps; ++step) {
    losses.push_back(training.Train(1).at(0));
    for (const auto& [name, range] : Ranges(training)) {
      ASSERT_GT(range, 0) << name << " after step " << step;
      ASSERT_TRUE(std::isfinite(range)) << name << " after step " << step;
    }
  }
  EXPECT_LT(MeanOf(losses, losses.size() - 10, losses.size()), 0.5 * MeanOf(losses, 0, 10));
  for (const auto& [name, range] : Ranges(training)) {
    EXPECT_GT(std::fabs(range / first.at(name) - 1), 1e-3) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Bits, LsqTraining,
                         testing::Values(Recipe{2, 0.05f, 400}, Recipe{4, 0.05f, 400},
                                         Recipe{8, 0.01f, 800}),
                         [](const testing::TestParamInfo<Recipe>& info) {
                           return std::to_string(info.param.bits);
                         });

TEST(LsqTraining, AResumedRunIsTheUninterruptedOne) {
  DigitsTraining training(Lsq(4));
  training.Train(3);
  DigitsTraining resumed = training.Resumed();
  EXPECT_EQ(resumed.Train(5), training.Train(5));
  EXPECT_EQ(resumed.State(), training.State());
}

// Where the loss is constant, decay shrinks the weights and leaves their ranges unchanged.
TEST(LsqTraining, ARangeHasNoPartInWeightDecay) {
  DigitsOptions options;
  options.loss_factor = 0;
  options.optimizer.set_l2_decay(0.1f);
  DigitsTraining training(Lsq(4), options);
  training.Train(1);
  const std::map<std::string, double> ranges = Ranges(training);
  const std::vector<std::string> weights = training.NamesWith(".w_0");
  ASSERT_EQ(weights.size(), 2);
  const std::vector<double> before = training.Values(weights[0]);
  training.Train(5);
  EXPECT_LT(std::fabs(training.Values(weights[0])[0]), std::fabs(before[0]));
  EXPECT_EQ(Ranges(training), ranges);
}

// At a learning rate that is far too large.
TEST(LsqTraining, ARangeStaysPositiveWhateverItsGradientIs) {
  DigitsOptions options;
  options.optimizer = Optimizer(Sgd(), 1e3f);
  DigitsTraining training(Lsq(2), options);
  training.Train(1);
  std::map<std::string, double> ranges = Ranges(training);
  bool any_halved = false;
  for (int step = 1; step < 10; ++step) {
    training.Train(1);
    for (const auto& [name, range] : Ranges(training)) {
      EXPECT_GT(range, 0) << name << " after step " << step;
      any_halved = any_halved || range == 0.5 * ranges[name];
      ranges[name] = range;
    }
  }
  EXPECT_TRUE(any_halved) << "nothing was kept from falling below 0";
}

}  // namespace
}  // namespace fixpoint::reference
