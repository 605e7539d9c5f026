// Bias correction beside plain means.

#include "transpiler/weights/correct_biases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "tests/transpiler/simulated_net.h"

namespace fixpoint {
namespace {

// The last product has no bias.
constexpr char kNet[] = R"(var x f32[-1,2,5,5]
var w f32[4,2,3,3] persistable
var b f32[4] persistable
var v f32[4,4,1,1] persistable
var e f32[4] persistable
var m f32[100,3] persistable
var y f32[-1,4,5,5]
var z f32[-1,4,5,5]
var r f32[-1,4,5,5]
var q f32[-1,4,5,5]
var s f32[-1,4,5,5]
var out f32[-1,3]
conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1]}
elementwise_add(X=y, Y=b) -> (Out=z) {axis=1}
relu(X=z) -> (Out=r)
conv2d(Input=r, Filter=v) -> (Output=q)
elementwise_add(X=q, Y=e) -> (Out=s) {axis=1}
mul(X=s, Y=m) -> (Out=out)
)";

constexpr char kThreeBits[] =
    "target: 'onednn_int8' weights { quantizer: 'channel_wise_abs_max' bits: 3 }";

// Of channels on axis 1 of [64,4,5,5].
std::vector<double> MeansOf(const Tensor& tensor) {
  std::vector<double> means(4);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    means[i / 25 % 4] += tensor.data<float>()[i] / (64 * 25.0);
  }
  return means;
}

std::vector<float> ValuesOf(const Scope& scope, const std::string& name) {
  const auto values = std::get<Tensor>(*scope.FindOrNull(name)).data<float>();
  return {values.begin(), values.end()};
}

TEST(CorrectBiases, TakesOffWhatQuantizationMovesMeansBy) {
  SimulatedNet net(kNet, kThreeBits);
  const std::vector<Tensor> wanted = net.RunFloat({"z", "s"});
  const std::vector<double> moved = MeansOf(net.RunSimulated({"z"})[0]);
  const std::vector<float> given = ValuesOf(net.parameters, "b");

  const auto corrected = CorrectBiases(net.networks(), net.run(1));
  ASSERT_TRUE(corrected.ok()) << corrected.status();
  ASSERT_EQ(corrected->size(), 2);
  EXPECT_EQ((*corrected)[0].bias, "b");
  EXPECT_EQ((*corrected)[0].output, "z");
  EXPECT_EQ((*corrected)[1].bias, "e");
  const std::vector<double> means = MeansOf(wanted[0]);
  double largest = 0;
  for (size_t c = 0; c < means.size(); ++c) {
    const double shift = means[c] - moved[c];
    EXPECT_NEAR(ValuesOf(net.simulated_parameters, "b")[c], given[c] + shift, 1e-5) << c;
    largest = std::max(largest, std::abs(shift));
  }
  EXPECT_GT(largest, 0.01);
  EXPECT_NEAR((*corrected)[0].largest_shift, largest, 1e-5);

  // The second one with the first one's correction.
  const std::vector<Tensor> made = net.RunSimulated({"z", "s"});
  for (int i : {0, 1}) {
    const std::vector<double> now = MeansOf(made[i]);
    const std::vector<double> then = MeansOf(wanted[i]);
    for (size_t c = 0; c < now.size(); ++c) EXPECT_NEAR(now[c], then[c], 1e-4) << i << " " << c;
  }
  EXPECT_EQ(ValuesOf(net.parameters, "b"), given);
}

TEST(CorrectBiases, DoesNotDependOnTheNumberOfThreads) {
  std::vector<std::vector<float>> biases;
  for (const int threads : {1, 3}) {
    SimulatedNet net(kNet, kThreeBits);
    ASSERT_TRUE(CorrectBiases(net.networks(), net.run(threads)).ok());
    biases.push_back(ValuesOf(net.simulated_parameters, "e"));
  }
  EXPECT_EQ(biases[0], biases[1]);
}

TEST(CorrectBiases, NamesAMeanThatIsNoNumber) {
  SimulatedNet net(kNet, kThreeBits);
  std::get<Tensor>(*net.parameters.FindOrNull("b")).mutable_data<float>()[1] = NAN;
  const auto corrected = CorrectBiases(net.networks(), net.run(1));
  EXPECT_EQ(corrected.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(corrected.status().message(),
            "the mean of a channel of \"z\" is nan; want samples and parameters that "
            "give numbers");
}

}  // namespace
}  // namespace fixpoint
