// Learned rounding beside plain loops over the formulas of the paper, and what becomes of the
// learned weights.

#include "transpiler/weights/round_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "tests/testing/temporary_folder.h"
#include "tests/transpiler/simulated_net.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/weights/learned_rounding.h"

namespace fixpoint {
namespace {

constexpr char kConvolutions[] = R"(var x f32[-1,2,5,5]
var w f32[4,2,3,3] persistable
var b f32[4] persistable
var d f32[4,1,3,3] persistable
var m f32[100,3] persistable
var e f32[3] persistable
var y f32[-1,4,5,5]
var z f32[-1,4,5,5]
var r f32[-1,4,5,5]
var q f32[-1,4,5,5]
var p f32[-1,3]
var out f32[-1,3]
conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1]}
elementwise_add(X=y, Y=b) -> (Out=z) {axis=1}
relu(X=z) -> (Out=r)
depthwise_conv2d(Input=r, Filter=d) -> (Output=q) {paddings=[1, 1], groups=4}
mul(X=q, Y=m) -> (Out=p)
elementwise_add(X=p, Y=e) -> (Out=out) {axis=1}
)";

constexpr char kFourBits[] =
    "target: 'onednn_int8' weights { quantizer: 'channel_wise_abs_max' bits: 4 }";

RoundOptions FewSteps() {
  RoundOptions options;
  options.steps = 400;
  options.learning_rate = 0.05;
  return options;
}

const Tensor& TensorOf(const Scope& scope, const std::string& name) {
  return std::get<Tensor>(*scope.FindOrNull(name));
}

TEST(RoundWeights, LowersTheErrorOfEveryLayer) {
  SimulatedNet net(kConvolutions, kFourBits);
  const RoundOptions options = FewSteps();
  const std::vector<Tensor> wanted = net.RunFloat({"out"});
  const auto error = [&] {
    const std::vector<Tensor> made = net.RunSimulated({"out"});
    double sum = 0;
    for (int64_t i = 0; i < made[0].size(); ++i) {
      sum += std::pow(made[0].data<float>()[i] - wanted[0].data<float>()[i], 2);
    }
    return sum;
  };
  const double before = error();
  const auto layers = RoundWeights(net.networks(), options, net.run(1));
  ASSERT_TRUE(layers.ok()) << layers.status();
  ASSERT_EQ(layers->size(), 3);
  for (const RoundedLayer& layer : *layers) {
    EXPECT_EQ(layer.why_not, "") << layer.output;
    EXPECT_LT(layer.learned_error, 0.9 * layer.nearest_error) << layer.output;
    EXPECT_GT(layer.changed, 0) << layer.output;
    EXPECT_LT(layer.changed, layer.elements / 2) << layer.output;
  }
  EXPECT_LT(error(), 0.7 * before);
}

TEST(RoundWeights, DoesNotDependOnTheNumberOfThreads) {
  RoundOptions options;
  options.steps = 60;
  std::vector<std::vector<uint8_t>> weights;
  for (const int threads : {1, 2}) {
    SimulatedNet net(kConvolutions, kFourBits);
    ASSERT_TRUE(RoundWeights(net.networks(), options, net.run(threads)).ok());
    std::vector<uint8_t> all;
    for (const char* name : {"w", "d", "m"}) {
      const auto bytes = TensorOf(net.simulated_parameters, name).bytes();
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    weights.push_back(all);
  }
  EXPECT_EQ(weights[0], weights[1]);
}

// What is kept is what is learned: another run takes it from the files, but for what it would learn
// from other samples or with other options.
TEST(RoundWeights, LearnsNothingAgainThatWasKept) {
  const TemporaryFolder folder;
  RoundOptions options;
  options.steps = 60;
  options.kept = folder.Path();
  const auto learned_of = [&](const char* config) {
    SimulatedNet net(kConvolutions, config);
    const auto layers = RoundWeights(net.networks(), options, net.run(1));
    EXPECT_TRUE(layers.ok()) << layers.status();
    const auto bytes = TensorOf(net.simulated_parameters, "d").bytes();
    return std::vector<uint8_t>(bytes.begin(), bytes.end());
  };
  const std::vector<uint8_t> first = learned_of(kFourBits);
  const std::vector<std::string> files = folder.Files();
  ASSERT_EQ(files.size(), 3);
  EXPECT_EQ(learned_of(kFourBits), first);
  EXPECT_EQ(folder.Files(), files);

  // The convolution in front stays in float, so that others read other samples.
  const std::string skips = std::string(kFourBits) + " rules { op_type: 'conv2d' skip: true }";
  const std::vector<uint8_t> other = learned_of(skips.c_str());
  EXPECT_EQ(folder.Files().size(), 5);
  options.kept = "";
  EXPECT_EQ(learned_of(skips.c_str()), other);
  options.kept = folder.Path();
  options.seed = 1;
  learned_of(kFourBits);
  EXPECT_EQ(folder.Files().size(), 8);

  for (const std::string& file : folder.Files()) folder.Write(file, "none");
  SimulatedNet net(kConvolutions, kFourBits);
  const absl::Status damaged = RoundWeights(net.networks(), options, net.run(1)).status();
  EXPECT_THAT(std::string(damaged.message()), testing::HasSubstr("rounding-"));
}

// Ranges stay, every float is one of the codes, and freezing gives these codes.
TEST(RoundWeights, FreezingFindsTheLearnedCodes) {
  SimulatedNet net(kConvolutions, kFourBits);
  const RoundOptions options = FewSteps();
  const auto layers = RoundWeights(net.networks(), options, net.run(2));
  ASSERT_TRUE(layers.ok()) << layers.status();
  for (const RoundedLayer& layer : *layers) EXPECT_EQ(layer.why_not, "") << layer.output;
  FreezeOptions freeze;
  freeze.feeds = {"x"};
  freeze.fetches = {"out"};
  const auto frozen = Freeze(*net.simulated, net.simulated_parameters, freeze);
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  for (const char* name : {"w", "d"}) {
    const absl::Span<const float> given = TensorOf(net.parameters, name).data<float>();
    const absl::Span<const float> learned = TensorOf(net.simulated_parameters, name).data<float>();
    const absl::Span<const int8_t> codes =
        TensorOf(frozen->scope, std::string(name) + ".int8").data<int8_t>();
    const size_t inner = given.size() / 4;
    for (size_t i = 0; i < given.size(); ++i) {
      const size_t begin = i / inner * inner;
      float range = 0;
      for (size_t j = begin; j < begin + inner; ++j) range = std::max(range, std::abs(given[j]));
      EXPECT_EQ(learned[i], static_cast<float>(codes[i] * static_cast<double>(range) / 7)) << i;
      EXPECT_LE(std::abs(given[i] / range * 7 - static_cast<float>(codes[i])), 1) << i;
    }
  }
}

TEST(RoundWeights, SaysWhyWeightsStayAsTheyAre) {
  SimulatedNet net(kConvolutions, "target: 'onednn_int8' weights { quantizer: 'abs_max' bits: 8 }");
  RoundOptions options;
  options.steps = 1;
  options.learning_rate = 1e-9;
  const auto layers = RoundWeights(net.networks(), options, net.run(1));
  ASSERT_TRUE(layers.ok()) << layers.status();
  ASSERT_FALSE(layers->empty());
  for (const RoundedLayer& layer : *layers) {
    EXPECT_EQ(layer.why_not, "learning found none that are better");
    EXPECT_EQ(TensorOf(net.simulated_parameters, layer.weight).bytes(),
              TensorOf(net.parameters, layer.weight).bytes());
  }
}

TEST(RoundWeights, RefusesOptionsThatMeanNothing) {
  SimulatedNet net(kConvolutions, kFourBits);
  RoundOptions options;
  options.steps = 0;
  EXPECT_EQ(RoundWeights(net.networks(), options, net.run(1)).status().code(),
            absl::StatusCode::kInvalidArgument);
  options = {};
  options.steps_without = 1;
  EXPECT_EQ(RoundWeights(net.networks(), options, net.run(1)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(LearnedRounding, BetaFallsAfterTheFirstSteps) {
  RoundOptions options;
  options.steps = 100;
  const auto beta = [&options](int64_t step) { return LearnedRounding::BetaOf(step, options); };
  EXPECT_EQ(beta(0), 0);
  EXPECT_EQ(beta(19), 0);
  EXPECT_DOUBLE_EQ(beta(20), 20);
  EXPECT_DOUBLE_EQ(beta(60), 11);
  EXPECT_NEAR(beta(99), 2, 0.01);
}

// The formulas of the paper and of Adam for one element, in double.
class PlainElement {
 public:
  PlainElement(double place) : floor_(std::floor(place)) {
    v_ = -std::log(1.2 / (place - floor_ + 0.1) - 1);
  }

  double Height() const { return std::clamp(1.2 / (1 + std::exp(-v_)) - 0.1, 0.0, 1.0); }
  double Code() const { return floor_ + Height(); }
  double Rounded() const { return floor_ + (Height() >= 0.5 ? 1 : 0); }

  void Step(int64_t step, double gradient, double unit, double beta, const RoundOptions& options) {
    const double sigmoid = 1 / (1 + std::exp(-v_));
    const double slope = Height() > 0 && Height() < 1 ? 1.2 * sigmoid * (1 - sigmoid) : 0;
    double of_height = gradient * unit;
    if (beta > 0) {
      const double far = 2 * Height() - 1;
      of_height -=
          options.lambda * beta * std::pow(std::abs(far), beta - 1) * 2 * (far > 0 ? 1 : -1);
    }
    mean_ = 0.9 * mean_ + 0.1 * of_height * slope;
    variance_ = 0.999 * variance_ + 0.001 * of_height * slope * of_height * slope;
    const double mean = mean_ / (1 - std::pow(0.9, step + 1));
    const double variance = variance_ / (1 - std::pow(0.999, step + 1));
    v_ -= options.learning_rate * mean / (std::sqrt(variance) + 1e-8);
  }

 private:
  double floor_;
  double v_;
  double mean_ = 0;
  double variance_ = 0;
};

// All of it for a product, with all samples in each step: its loss is sum_c (x W - x W_q)^2.
TEST(LearnedRounding, LearnsWhatPlainLoopsLearn) {
  constexpr int kRows = 40;
  constexpr int kInputs = 12;
  constexpr int kOutputs = 5;
  constexpr double kUnit = 1.0 / 7;
  Tensor weight = RandomNumbers({kInputs, kOutputs}, 3);
  weight.mutable_data<float>()[0] = 1;
  const Tensor x = RandomNumbers({kRows, kInputs}, 4);
  WeightCodesOptions codes_options;
  codes_options.codes = SymmetricCodes(4, QuantSpec::HALF_TO_EVEN);
  const auto nearest = MakeWeightCodes(weight, codes_options);
  ASSERT_TRUE(nearest.ok()) << nearest.status();
  RoundOptions options;
  options.steps = 200;
  options.learning_rate = 0.02;

  LearnedRounding rounding(weight, *nearest, codes_options);
  const absl::Span<const float> w = weight.data<float>();
  std::vector<PlainElement> plain;
  for (const float element : w) plain.emplace_back(element / kUnit);
  std::vector<float> learned(w.size());
  for (int64_t step = 0; step < options.steps; ++step) {
    std::vector<float> gradient(w.size());
    std::vector<double> plain_gradient(w.size());
    rounding.Write(absl::MakeSpan(learned));
    for (int row = 0; row < kRows; ++row) {
      for (int c = 0; c < kOutputs; ++c) {
        double difference = 0;
        double plain_difference = 0;
        for (int k = 0; k < kInputs; ++k) {
          const double input = x.data<float>()[row * kInputs + k];
          const int i = k * kOutputs + c;
          difference += input * (learned[i] - w[i]);
          plain_difference += input * (plain[i].Code() * kUnit - w[i]);
        }
        for (int k = 0; k < kInputs; ++k) {
          const double input = x.data<float>()[row * kInputs + k];
          const int i = k * kOutputs + c;
          gradient[i] += static_cast<float>(2 * difference * input / kRows);
          plain_gradient[i] += 2 * plain_difference * input / kRows;
        }
      }
    }
    rounding.Step(step, gradient, options);
    const double beta =
        step < 40 ? 0 : 2 + 9 * (1 + std::cos(M_PI * static_cast<double>(step - 40) / 160));
    // The first one is at the end of the range.
    for (size_t i = 1; i < plain.size(); ++i) {
      plain[i].Step(step, plain_gradient[i], kUnit, beta, options);
    }
  }
  const std::vector<int32_t> codes = rounding.RoundedCodes();
  EXPECT_EQ(codes[0], 7);
  int changed = 0;
  for (size_t i = 1; i < codes.size(); ++i) {
    EXPECT_EQ(codes[i], plain[i].Rounded()) << i;
    changed += static_cast<int>(codes[i] != rounding.nearest_codes()[i]);
  }
  EXPECT_GT(changed, 3);
}

}  // namespace
}  // namespace fixpoint
