// No step of the known networks, float or quantized, runs on a fallback kernel.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "benchmarks/networks.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "tests/runtime/kernels/convolution_cases.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint::executor {
namespace {

class FastKernels : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(FastKernels, AreAllThatIsPlanned) {
  const auto& [name, quantized] = GetParam();
  constexpr int64_t kBatch = 4;
  Network network = BuildNetwork(name, kBatch);
  if (quantized) {
    TranspileOptions options;
    options.config.set_target("onednn_int8");
    options.startup = &network.startup;
    const auto transpiled = Transpile(&network.main, options);
    ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  }
  Scope scope;
  const auto startup = Executor::Create(network.startup, &scope);
  ASSERT_TRUE(startup.ok() && (*startup)->Run({}, {}, 0).ok());
  const auto executor = Executor::Create(network.main, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const Tensor image = *Tensor::Allocate(VarType::FP32, network.image_dims);
  const Tensor label = *Tensor::Allocate(VarType::INT64, {kBatch, 1});
  const std::vector<Feed> feeds = {{network.image, &image}, {network.label, &label}};
  const auto plan = (*executor)->PlanOf(feeds, {network.loss});
  ASSERT_TRUE(plan.ok()) << plan.status();
  int products_on_integers = 0;
  int products_on_floats = 0;
  for (const Step& step : (*plan)->steps) {
    // Such a gradient reads transposed matrices in parts, for which oneDNN's gemm has 0.9 to 1.0 of
    // the speed of its other products.
    const bool has_fast_gemm = absl::StrContains(step.name, "mul_grad of Y") ||
                               absl::StrContains(step.name, "matmul_grad of Y");
    EXPECT_TRUE(!kernels::IsSlow(step.implementation) ||
                (has_fast_gemm && step.implementation == "gemm:jit:f32"))
        << step.name << " " << step.implementation;
    // With what is after it: "conv2d + elementwise_add".
    const std::string name = step.name.substr(0, step.name.find(" + "));
    if (name == "conv2d" || name == "mul" || name == "depthwise_conv2d") {
      ++products_on_floats;
    }
    if (step.name.find("on integers") != std::string::npos) ++products_on_integers;
  }
  // Each product of the forward pass is one or the other.
  EXPECT_EQ(products_on_floats > 0, !quantized);
  EXPECT_EQ(products_on_integers > 0, quantized);
}

INSTANTIATE_TEST_SUITE_P(Networks, FastKernels,
                         testing::Combine(testing::ValuesIn(NetworkNames()), testing::Bool()),
                         [](const auto& info) {
                           return std::get<0>(info.param) +
                                  (std::get<1>(info.param) ? "_quantized" : "_float");
                         });

}  // namespace
}  // namespace fixpoint::executor
