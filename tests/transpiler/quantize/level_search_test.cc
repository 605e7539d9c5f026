// Searches on made-up networks: a layer at level 0 makes its noise, and nothing at the last level.

#include "transpiler/quantize/level_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

// The sum of what each layer gives at its level.
double SumOf(const std::vector<std::vector<double>>& of_layers, const Levels& levels) {
  double sum = 0;
  for (size_t i = 0; i < levels.size(); ++i) sum += of_layers[i][levels[i]];
  return sum;
}

// A network whose layers add up, and how often it was measured.
struct MadeUp {
  std::vector<std::vector<double>> noise;  // of each layer at each level
  std::vector<std::vector<double>> drops;
  int trials = 0;

  LevelSpace Space() const {
    return {static_cast<int>(noise.size()), static_cast<int>(noise[0].size()),
            [this](const Levels& levels) { return SumOf(noise, levels); }};
  }
  LevelTrial Drop() {
    return [this](const Levels& levels) {
      ++trials;
      return SumOf(drops, levels);
    };
  }
};

MadeUp Of(const std::vector<double>& drops) {
  MadeUp network;
  for (const double drop : drops) network.drops.push_back({drop, 0});
  network.noise = network.drops;
  return network;
}

TEST(LevelSearch, LeavesEverythingAsConfiguredWhereThatIsEnough) {
  MadeUp network = Of({1, 2, 3});
  const absl::StatusOr<FoundLevels> found = FindLevelsForDrop(network.Space(), 6, network.Drop());
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->levels, ElementsAre(0, 0, 0));
  EXPECT_EQ(found->reached, 6);
  EXPECT_TRUE(found->holds);
}

TEST(LevelSearch, LeavesTheNoisiestLayersInFloat) {
  MadeUp network = Of({1, 8, 1, 4, 1, 1});
  const absl::StatusOr<FoundLevels> found = FindLevelsForDrop(network.Space(), 4, network.Drop());
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->levels, ElementsAre(0, 1, 0, 1, 0, 0));
  EXPECT_EQ(found->reached, 4);
}

TEST(LevelSearch, GivesLayersBackWhoseNoiseDoesNotMatter) {
  MadeUp network = Of({0, 5, 0, 3});
  network.noise = {{9, 0}, {5, 0}, {8, 0}, {3, 0}};
  const absl::StatusOr<FoundLevels> found = FindLevelsForDrop(network.Space(), 0.5, network.Drop());
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->levels, ElementsAre(0, 1, 0, 1));
  const absl::StatusOr<FoundLevels> looser = FindLevelsForDrop(network.Space(), 3, network.Drop());
  ASSERT_TRUE(looser.ok());
  EXPECT_THAT(looser->levels, ElementsAre(0, 1, 0, 0));
}

TEST(LevelSearch, TakesTheLevelBetweenWhereThatIsEnough) {
  MadeUp network;
  network.drops = {{10, 1, 0}, {10, 1, 0}, {1, 1, 0}};
  network.noise = network.drops;
  const absl::StatusOr<FoundLevels> found = FindLevelsForDrop(network.Space(), 3, network.Drop());
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->levels, ElementsAre(1, 1, 0));
  const absl::StatusOr<FoundLevels> stricter =
      FindLevelsForDrop(network.Space(), 1, network.Drop());
  ASSERT_TRUE(stricter.ok());
  EXPECT_THAT(stricter->levels, ElementsAre(2, 2, 1)) << "all at 8 bits, and two in float";
}

TEST(LevelSearch, SaysThatNothingHoldsAndGivesTheBest) {
  MadeUp network = Of({3, 3});
  const absl::StatusOr<FoundLevels> found = FindLevelsForDrop(network.Space(), 1, network.Drop());
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->holds);
  EXPECT_EQ(found->reached, 3);
  EXPECT_EQ(std::accumulate(found->levels.begin(), found->levels.end(), 0), 1);
}

TEST(LevelSearch, AsksForFewMeasurements) {
  std::vector<double> drops(1000);
  std::iota(drops.begin(), drops.end(), 1);
  MadeUp network = Of(drops);
  const absl::StatusOr<FoundLevels> found =
      FindLevelsForDrop(network.Space(), 1000, network.Drop());
  ASSERT_TRUE(found.ok());
  EXPECT_LE(found->reached, 1000);
  EXPECT_LE(network.trials, 1 + 10 + kMostGivenBack + 1);
}

// The drop is that of `drops` times a factor, which the estimate does not know.
LevelTrial TimesTrue(const MadeUp& network, double factor, int* trials) {
  return [&network, factor, trials](const Levels& levels) {
    ++*trials;
    return factor * SumOf(network.drops, levels);
  };
}

TEST(LevelSearch, GoesOnWhereTheDropIsLargerThanItsEstimate) {
  MadeUp network = Of({1, 8, 2, 4, 1, 1});
  for (const double factor : {1.0, 1.5, 3.0}) {
    int trials = 0;
    const absl::StatusOr<FoundLevels> found = FindLevelsForEstimatedDrop(
        network.Space(), 5.9, network.Drop(), TimesTrue(network, factor, &trials));
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(found->holds) << factor;
    EXPECT_LE(found->reached, 5.9) << factor;
    EXPECT_EQ(found->reached, factor * SumOf(network.drops, found->levels));
    EXPECT_THAT(found->levels, factor == 1.0   ? ElementsAre(0, 1, 0, 1, 0, 0)
                               : factor == 1.5 ? ElementsAre(0, 1, 1, 1, 0, 0)
                                               : ElementsAre(1, 1, 1, 1, 1, 0));
    EXPECT_LE(trials, 7) << factor;
  }
}

TEST(LevelSearch, AGoodEstimateSparesTrials) {
  MadeUp network = Of(std::vector<double>(64, 1.0));
  int trials = 0;
  const absl::StatusOr<FoundLevels> found = FindLevelsForEstimatedDrop(
      network.Space(), 32, network.Drop(), TimesTrue(network, 1, &trials));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->reached, 32);
  EXPECT_EQ(trials, 4)
      << "all as configured, the estimate's levels, one layer less, and the result";
}

TEST(LevelSearch, RaisesFewerLayersWhereTheDropIsSmallerThanItsEstimate) {
  MadeUp network = Of({1, 8, 2, 4, 1, 1});
  int trials = 0;
  const absl::StatusOr<FoundLevels> found = FindLevelsForEstimatedDrop(
      network.Space(), 3, network.Drop(), TimesTrue(network, 0.3, &trials));
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->levels, ElementsAre(0, 1, 0, 0, 0, 0));
  const absl::StatusOr<FoundLevels> none = FindLevelsForEstimatedDrop(
      network.Space(), 3, network.Drop(), TimesTrue(network, 0.1, &trials));
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(none->levels, ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(LevelSearch, GoesOnToFloatWhereEightBitsDoNotHold) {
  MadeUp network;
  network.drops = {{10, 1, 0}, {10, 2, 0}, {1, 1, 0}};
  network.noise = network.drops;
  int trials = 0;
  const absl::StatusOr<FoundLevels> found = FindLevelsForEstimatedDrop(
      network.Space(), 4, network.Drop(), TimesTrue(network, 2, &trials));
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->levels, ElementsAre(1, 2, 1)) << "the estimate is content with 110";
  const absl::StatusOr<FoundLevels> nothing = FindLevelsForEstimatedDrop(
      network.Space(), 1, network.Drop(), TimesTrue(network, 2, &trials));
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(nothing->holds);
  EXPECT_EQ(nothing->reached, 2);
  EXPECT_THAT(nothing->levels, ElementsAre(2, 2, 1));
}

TEST(LevelSearch, AnErrorOfATrialEndsIt) {
  MadeUp network = Of({1, 2});
  const LevelTrial fails = [](const Levels&) -> absl::StatusOr<double> {
    return absl::InvalidArgumentError("no");
  };
  EXPECT_EQ(FindLevelsForDrop(network.Space(), 0, fails).status(),
            absl::InvalidArgumentError("no"));
  EXPECT_EQ(FindLevelsForEstimatedDrop(network.Space(), 0, network.Drop(), fails).status(),
            absl::InvalidArgumentError("no"));
  EXPECT_EQ(FindLevelsForBudget(network.Space(), 0, fails).status(),
            absl::InvalidArgumentError("no"));
}

TEST(LevelSearch, ABudgetIsSpentOnTheNoisiestLayers) {
  MadeUp network = Of({1, 8, 2, 4});
  // All layers are of the same size: 1 as codes, 4 in float.
  const LevelTrial cost = [](const Levels& levels) {
    return std::accumulate(levels.begin(), levels.end(), 0.0,
                           [](double sum, int level) { return sum + (level == 0 ? 1 : 4); });
  };
  const absl::StatusOr<FoundLevels> found = FindLevelsForBudget(network.Space(), 11, cost);
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->levels, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(found->reached, 10);
  const absl::StatusOr<FoundLevels> too_small = FindLevelsForBudget(network.Space(), 3, cost);
  ASSERT_TRUE(too_small.ok());
  EXPECT_FALSE(too_small->holds);
  EXPECT_THAT(too_small->levels, ElementsAre(0, 0, 0, 0));
}

// With layers of one size the order of noise is the best one.
TEST(LevelSearch, IsTheBestOfAllSubsetsWhereLayersAddUp) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> number(1, 100);
  for (int run = 0; run < 50; ++run) {
    std::vector<double> drops(8);
    for (double& drop : drops) drop = number(random);
    MadeUp network = Of(drops);
    const double most = number(random) * 2;
    int fewest = 8;
    for (int subset = 0; subset < 256; ++subset) {
      Levels levels(8);
      for (int i = 0; i < 8; ++i) levels[i] = subset >> i & 1;
      const int raised = std::accumulate(levels.begin(), levels.end(), 0);
      if (SumOf(network.drops, levels) <= most) fewest = std::min(fewest, raised);
    }
    const absl::StatusOr<FoundLevels> found =
        FindLevelsForDrop(network.Space(), most, network.Drop());
    ASSERT_TRUE(found.ok());
    if (fewest == 8) {
      EXPECT_FALSE(found->holds);
    } else {
      EXPECT_LE(found->reached, most);
      EXPECT_EQ(std::accumulate(found->levels.begin(), found->levels.end(), 0), fewest);
    }
  }
}

}  // namespace
}  // namespace fixpoint
