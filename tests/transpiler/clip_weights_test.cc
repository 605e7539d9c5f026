// Ranges of weights by the rules beside plain loops over all elements, and what is left alone.

#include "transpiler/weights/clip_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "tests/transpiler/simulated_net.h"
#include "transpiler/freeze/freeze.h"

namespace fixpoint {
namespace {

constexpr char kNet[] = R"(var x f32[-1,8,5,5]
var w f32[4,8,3,3] persistable
var m f32[100,3] persistable
var y f32[-1,4,5,5]
var out f32[-1,3]
conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1]}
mul(X=y, Y=m) -> (Out=out)
)";
constexpr int kChannelsOfW = 4;
constexpr int kOfChannel = 72;

std::string Config(const std::string& weights) {
  return "target: 'onednn_int8' weights { " + weights + " }";
}

std::vector<float> ValuesOf(const Scope& scope, const std::string& name) {
  const auto values = std::get<Tensor>(*scope.FindOrNull(name)).data<float>();
  return {values.begin(), values.end()};
}

float LargestOf(absl::Span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// Cubes, so that a few values are far larger than the others, in every channel of `w`.
void SpreadWeights(SimulatedNet* net) {
  for (Scope* scope : {&net->parameters, &net->simulated_parameters}) {
    for (const char* name : {"w", "m"}) {
      for (float& value : std::get<Tensor>(*scope->FindOrNull(name)).mutable_data<float>()) {
        value = value * value * value;
      }
    }
  }
}

// What rounding to `largest` codes of a sign with this range does to values, each for itself.
double SquaredError(absl::Span<const float> values, double range, int largest) {
  double sum = 0;
  for (const float value : values) {
    const double code = std::nearbyint(std::clamp(value / range, -1.0, 1.0) * largest);
    sum += std::pow(code * range / largest - value, 2);
  }
  return sum;
}

void ExpectClippedAt(float range, absl::Span<const float> given, absl::Span<const float> clipped) {
  for (size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(clipped[i], std::clamp(given[i], -range, range)) << i;
  }
}

std::vector<ClippedWeight> ClipAll(SimulatedNet* net) {
  const auto clipped =
      ClipWeights(*net->simulated, net->plan, QuantizerTable(), &net->simulated_parameters);
  EXPECT_TRUE(clipped.ok()) << clipped.status();
  return clipped.ok() ? *clipped : std::vector<ClippedWeight>();
}

TEST(ClipWeights, EachChannelHasTheLeastSquaredErrorOfAllRanges) {
  SimulatedNet net(kNet, Config("quantizer: 'channel_wise_abs_max' bits: 3 range_rule: MSE"));
  SpreadWeights(&net);
  const std::vector<float> given = ValuesOf(net.parameters, "w");
  const std::vector<ClippedWeight> weights = ClipAll(&net);
  ASSERT_EQ(weights.size(), 2);
  EXPECT_EQ(weights[0].variable, "w");
  EXPECT_EQ(weights[0].why_not, "");
  EXPECT_EQ(weights[0].elements, kChannelsOfW * kOfChannel);
  const std::vector<float> clipped = ValuesOf(net.simulated_parameters, "w");
  for (int c = 0; c < kChannelsOfW; ++c) {
    const auto before = absl::MakeSpan(given).subspan(c * kOfChannel, kOfChannel);
    const auto after = absl::MakeSpan(clipped).subspan(c * kOfChannel, kOfChannel);
    const float range = LargestOf(after);
    const double widest = LargestOf(before);
    EXPECT_LT(range, widest);
    ExpectClippedAt(range, before, after);
    double least = SquaredError(before, widest, 3);
    EXPECT_LT(SquaredError(before, range, 3), 0.9 * least);
    for (int k = 1; k < 400; ++k) {
      least = std::min(least, SquaredError(before, widest * k * k / 160000, 3));
    }
    // A histogram does not say where in a bin values are.
    EXPECT_LE(SquaredError(before, range, 3), 1.1 * least) << c;
  }
  EXPECT_EQ(ValuesOf(net.parameters, "w"), given);
}

TEST(ClipWeights, FreezingFindsTheRangeThatAPercentileHas) {
  SimulatedNet net(kNet, Config("quantizer: 'abs_max' range_rule: PERCENTILE percentile: 90"));
  SpreadWeights(&net);
  std::vector<float> sorted = ValuesOf(net.parameters, "w");
  for (float& value : sorted) value = std::abs(value);
  std::sort(sorted.begin(), sorted.end());
  const float percentile = sorted[static_cast<size_t>(std::ceil(0.9 * sorted.size())) - 1];
  const std::vector<ClippedWeight> weights = ClipAll(&net);
  ASSERT_EQ(weights.size(), 2);
  const std::vector<float> clipped = ValuesOf(net.simulated_parameters, "w");
  const float range = LargestOf(clipped);
  EXPECT_GE(range, percentile);
  EXPECT_LE(range, percentile * (1 + 1.0f / 32));
  ExpectClippedAt(range, ValuesOf(net.parameters, "w"), clipped);
  EXPECT_EQ(weights[0].clipped, std::count_if(sorted.begin(), sorted.end(),
                                              [range](float value) { return value > range; }));

  FreezeOptions options;
  options.fetches = {"out"};
  const auto frozen = Freeze(*net.simulated, net.simulated_parameters, options);
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  EXPECT_EQ(ValuesOf(frozen->scope, "w.int8.scale"), std::vector<float>{range});
}

TEST(ClipWeights, ZeroPointsHaveTwoEnds) {
  SimulatedNet net(kNet,
                   "target: 'onednn_int8' fc_weights { quantizer: 'row_wise_min_max' range_rule: "
                   "PERCENTILE percentile: 80 }");
  const std::vector<float> given = ValuesOf(net.parameters, "m");
  const std::vector<ClippedWeight> weights = ClipAll(&net);
  ASSERT_EQ(weights.size(), 1);
  EXPECT_EQ(weights[0].variable, "m");
  EXPECT_EQ(weights[0].why_not, "");
  const std::vector<float> clipped = ValuesOf(net.simulated_parameters, "m");
  for (int c = 0; c < 3; ++c) {  // of [100,3]
    int low = 0;
    int high = 0;
    for (size_t i = c; i < given.size(); i += 3) {
      low += static_cast<int>(given[i] < clipped[i]);
      high += static_cast<int>(given[i] > clipped[i]);
    }
    EXPECT_NEAR(low, 10, 3) << c;
    EXPECT_NEAR(high, 10, 3) << c;
  }
}

TEST(ClipWeights, LeavesWeightsAloneWithoutARule) {
  SimulatedNet net(kNet, Config("quantizer: 'abs_max' range_rule: MIN_MAX"));
  EXPECT_TRUE(ClipAll(&net).empty());
  EXPECT_EQ(ValuesOf(net.simulated_parameters, "w"), ValuesOf(net.parameters, "w"));
  EXPECT_TRUE(NotesOnClipping({}).empty());
}

TEST(ClipWeights, SaysWhyARuleIsNotFollowed) {
  SimulatedNet net(kNet, Config("quantizer: 'moving_average_abs_max' range_rule: MSE"));
  const std::vector<ClippedWeight> weights = ClipAll(&net);
  ASSERT_EQ(weights.size(), 2);
  EXPECT_EQ(NotesOnClipping(weights),
            std::vector<std::string>{
                "weights whose range_rule is not followed: 2, the first is w: its quantizer keeps "
                "a range; want one that finds it, such as abs_max"});

  SimulatedNet shared(R"(var x f32[-1,4]
var w f32[4,4] persistable
var y f32[-1,4]
var v f32[1]
var out f32[-1,4]
mul(X=x, Y=w) -> (Out=y)
mean(X=w) -> (Out=v)
elementwise_add(X=y, Y=v) -> (Out=out)
)",
                      Config("quantizer: 'abs_max' range_rule: MSE"));
  const std::vector<ClippedWeight> left = ClipAll(&shared);
  ASSERT_EQ(left.size(), 1);
  EXPECT_EQ(left[0].why_not, "something else reads it too");
  EXPECT_EQ(ValuesOf(shared.simulated_parameters, "w"), ValuesOf(shared.parameters, "w"));
}

TEST(ClipWeights, LeavesWeightsThatAreNotFiniteToTheirChecks) {
  SimulatedNet net(kNet, Config("quantizer: 'abs_max' range_rule: MSE"));
  std::get<Tensor>(*net.simulated_parameters.FindOrNull("w")).mutable_data<float>()[0] =
      std::numeric_limits<float>::infinity();
  const std::vector<ClippedWeight> weights = ClipAll(&net);
  ASSERT_EQ(weights.size(), 2);
  EXPECT_EQ(weights[0].why_not, "it has elements that are not finite");
  EXPECT_EQ(weights[1].why_not, "");
  EXPECT_TRUE(std::isinf(ValuesOf(net.simulated_parameters, "w")[0]));
}

}  // namespace
}  // namespace fixpoint
