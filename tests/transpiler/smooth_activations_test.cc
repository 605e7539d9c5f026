// Smoothing beside the formula of the paper, and what the network computes.

#include "transpiler/weights/smooth_activations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "tests/transpiler/simulated_net.h"

namespace fixpoint {
namespace {

// A layer norm that two products read, one of them with a transposed weight; a product before
// another one; and a function between two that does not scale with its argument.
constexpr char kEncoder[] = R"(var x f32[-1,3,6]
var g f32[6] persistable
var h f32[6] persistable
var q f32[6,4] persistable
var k f32[5,6] persistable
var f f32[4,6] persistable
var fb f32[6] persistable
var p f32[6,5] persistable
var t f32[5,2] persistable
var n f32[-1,3,6]
var nm f32[-1]
var nv f32[-1]
var a f32[-1,3,4]
var b f32[-1,3,5]
var c f32[-1,3,6]
var cb f32[-1,3,6]
var r f32[-1,3,6]
var d f32[-1,3,5]
var e f32[-1,3,5]
var s f32[-1,3,5]
var out f32[-1,3,2]
layer_norm(X=x, Scale=g, Bias=h) -> (Y=n, Mean=nm, Variance=nv) {begin_norm_axis=2}
matmul_v2(X=n, Y=q) -> (Out=a)
matmul_v2(X=n, Y=k) -> (Out=b) {trans_y=true}
matmul_v2(X=a, Y=f) -> (Out=c)
elementwise_add(X=c, Y=fb) -> (Out=cb) {axis=2}
relu(X=cb) -> (Out=r)
matmul_v2(X=r, Y=p) -> (Out=d)
sigmoid(X=d) -> (Out=e)
elementwise_add(X=e, Y=b) -> (Out=s)
matmul_v2(X=s, Y=t) -> (Out=out)
)";

constexpr char kConfig[] = "target: 'onednn_int8'";

std::vector<float> ValuesOf(const Scope& scope, const std::string& name) {
  const auto values = std::get<Tensor>(*scope.FindOrNull(name)).data<float>();
  return {values.begin(), values.end()};
}

// Channel 2 of the layer norm is 50 times the others.
void MakeOutlier(Scope* scope) {
  std::get<Tensor>(*scope->FindOrNull("g")).mutable_data<float>()[2] *= 50;
}

TEST(SmoothActivations, DividesByTheFactorsOfTheFormula) {
  SimulatedNet net(kEncoder, kConfig);
  MakeOutlier(&net.parameters);
  const std::vector<Tensor> before = net.RunFloat({"n"});
  const std::vector<float> g = ValuesOf(net.parameters, "g");
  const std::vector<float> h = ValuesOf(net.parameters, "h");
  const std::vector<float> q = ValuesOf(net.parameters, "q");
  const std::vector<float> k = ValuesOf(net.parameters, "k");
  SmoothOptions options;
  options.alpha = 0.75;
  const auto smoothed = SmoothActivations(*net.network, &net.parameters, options, net.run(2));
  ASSERT_TRUE(smoothed.ok()) << smoothed.status();
  ASSERT_EQ(smoothed->size(), 3);
  EXPECT_EQ((*smoothed)[0].variable, "n");
  EXPECT_EQ((*smoothed)[0].products, 2);
  EXPECT_LT((*smoothed)[0].spread_after, 0.6 * (*smoothed)[0].spread_before);
  EXPECT_EQ((*smoothed)[1].variable, "a");
  EXPECT_EQ((*smoothed)[2].variable, "r");
  for (int c = 0; c < 6; ++c) {
    double of_x = 0;
    for (int64_t i = c; i < before[0].size(); i += 6) {
      of_x = std::max<double>(of_x, std::abs(before[0].data<float>()[i]));
    }
    double of_w = 0;
    for (int i = 0; i < 4; ++i) of_w = std::max<double>(of_w, std::abs(q[c * 4 + i]));
    for (int i = 0; i < 5; ++i) of_w = std::max<double>(of_w, std::abs(k[i * 6 + c]));
    const double s = std::pow(of_x, 0.75) / std::pow(of_w, 0.25);
    EXPECT_NEAR(ValuesOf(net.parameters, "g")[c], g[c] / s, 1e-5 * std::abs(g[c] / s)) << c;
    EXPECT_NEAR(ValuesOf(net.parameters, "h")[c], h[c] / s, 1e-5 * std::abs(h[c] / s)) << c;
    for (int i = 0; i < 5; ++i) {
      const double wanted = k[i * 6 + c] * s;
      EXPECT_NEAR(ValuesOf(net.parameters, "k")[i * 6 + c], wanted, 1e-5 * std::abs(wanted));
    }
  }
}

TEST(SmoothActivations, LeavesWhatTheNetworkComputes) {
  SimulatedNet net(kEncoder, kConfig);
  MakeOutlier(&net.parameters);
  const std::vector<Tensor> wanted = net.RunFloat({"out"});
  ASSERT_TRUE(SmoothActivations(*net.network, &net.parameters, {}, net.run(1)).ok());
  const std::vector<Tensor> made = net.RunFloat({"out"});
  for (int64_t i = 0; i < made[0].size(); ++i) {
    const float number = wanted[0].data<float>()[i];
    EXPECT_NEAR(made[0].data<float>()[i], number, 1e-4 * (1 + std::abs(number))) << i;
  }
}

TEST(SmoothActivations, RefusesWhatIsNoShareOrNoNumber) {
  SimulatedNet net(kEncoder, kConfig);
  SmoothOptions options;
  options.alpha = 1.5;
  const auto share = SmoothActivations(*net.network, &net.parameters, options, net.run(1));
  EXPECT_EQ(share.status().message(), "alpha is 1.5; want a number from 0 to 1");
  std::get<Tensor>(*net.parameters.FindOrNull("h")).mutable_data<float>()[1] = NAN;
  const std::vector<float> given = ValuesOf(net.parameters, "q");
  const auto number = SmoothActivations(*net.network, &net.parameters, {}, net.run(1));
  EXPECT_EQ(number.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(number.status().message()),
              ::testing::HasSubstr("\"n\" has a value that is not finite"));
  EXPECT_EQ(ValuesOf(net.parameters, "q"), given);
}

}  // namespace
}  // namespace fixpoint
