// The forward pass of quantized networks is one of exact integers: whatever instructions the
// machine has, it gives the same bits.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "benchmarks/networks.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/plan.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint::executor {
namespace {

int ProductsOnIntegers(const Plan& plan) {
  int products = 0;
  for (const Step& step : plan.steps) products += absl::StrContains(step.name, "on integers");
  return products;
}

// Codes that are drawn, or as large as they can be, as multiples of 1/128.
std::string Codes(const std::string& name, const std::vector<int64_t>& dims, int smallest,
                  int largest, bool are_largest) {
  int64_t size = 1;
  for (const int64_t dim : dims) size *= dim;
  const RandomStream random(3, static_cast<uint32_t>(name.size()), 0);
  std::string text = absl::StrCat(name, " f32[", absl::StrJoin(dims, ","), "]");
  for (int64_t i = 0; i < size; ++i) {
    const int drawn = smallest + static_cast<int>(random.Uniform(i) * (largest - smallest + 1));
    // One is the largest in any case, as the range has to be found.
    absl::StrAppendFormat(&text, " %.9g", (are_largest || i % 9 == 0 ? largest : drawn) / 128.0);
  }
  return text + "\n";
}

// Ranges are 127/128 and 255/128, so that every step between codes is a power of two: then the
// interpreter's floats are exact until they are rounded to FP32, and so are sums of integers.
constexpr char kExact[] = R"(program version=2006002
  block 0 {
    relu(X=x) -> (Out=r)
    fake_quantize_dequantize_abs_max(X=r) -> (Out=rd, OutScale=rs) {bit_length=9}
    fake_channel_wise_quantize_dequantize_abs_max(X=w) -> (Out=wd, OutScale=ws) {
      bit_length=8, quant_axis=0}
    conv2d(Input=rd, Filter=wd) -> (Output=y) {paddings=[1, 1]}
    reshape2(X=y) -> (Out=flat, XShape=y_shape) {shape=[2, -1]}
    fake_quantize_dequantize_moving_average_abs_max(X=flat, InScale=scale) -> (
      Out=fd, OutScale=fs) {bit_length=8, is_test=true}
    fake_quantize_dequantize_abs_max(X=v) -> (Out=vd, OutScale=vs) {bit_length=8}
    mul(X=fd, Y=vd) -> (Out=z)
  })";

class ExactSums : public testing::TestWithParam<bool> {};

// Pairs of the largest codes do not fit in 16 bits, and their sums not in the 24 of a float.
TEST_P(ExactSums, AreThoseOfTheInterpreterToTheBit) {
  const bool are_largest = GetParam();
  const std::string values = Codes("x", {2, 64, 5, 4}, -100, 255, are_largest) +
                             Codes("w", {16, 64, 3, 3}, -127, 127, are_largest) +
                             Codes("v", {320, 8}, -127, 127, are_largest) + "scale f32[1] 1016\n";
  EXPECT_EQ(OpDifferences(kExact, values, 0, {"y", "z"}), "");

  const Program program = ParsedProgram(kExact);
  Scope scope = *ParseParameters(values, "values");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto plan = (*executor)->PlanOf({}, {"z"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(ProductsOnIntegers(**plan), 2);
}

INSTANTIATE_TEST_SUITE_P(Codes, ExactSums, testing::Bool(),
                         [](const auto& info) { return info.param ? "Largest" : "Drawn"; });

// LeNet-5, quantized, with values that were made without functions of the C library.
class QuantizedNetwork : public testing::Test {
 protected:
  static constexpr int64_t kBatch = 4;

  Network network_ = BuildNetwork("lenet5", kBatch);
  Scope scope_;
  Tensor image_ = *Tensor::Allocate(VarType::FP32, network_.image_dims);
  Tensor label_ = *Tensor::Allocate(VarType::INT64, {kBatch, 1});

  void SetUp() override {
    TranspileOptions options;
    options.config.set_target("onednn_int8");
    options.startup = &network_.startup;
    const auto transpiled = Transpile(&network_.main, options);
    ASSERT_TRUE(transpiled.ok()) << transpiled.status();
    const auto startup = Executor::Create(network_.startup, &scope_);
    ASSERT_TRUE(startup.ok() && (*startup)->Run({}, {}, 0).ok());
    uint32_t number = 0;
    for (const auto& [name, value] : scope_) {
      Tensor& tensor = std::get<Tensor>(*scope_.FindOrNull(name));
      if (tensor.dtype() != VarType::FP32 || tensor.dims().size() < 2) continue;
      const bool is_velocity = absl::StrContains(name, "velocity");
      if (!is_velocity) Draw(++number, 0.125f, &tensor);
    }
    Draw(++number, 1, &image_);
    for (int64_t i = 0; i < kBatch; ++i) label_.mutable_data<int64_t>()[i] = i;
  }

  static void Draw(uint32_t number, float largest, Tensor* tensor) {
    const RandomStream random(5, number, 0);
    for (int64_t i = 0; i < tensor->size(); ++i) {
      tensor->mutable_data<float>()[i] = largest * static_cast<float>(2 * random.Uniform(i) - 1);
    }
  }
};

TEST_F(QuantizedNetwork, ComputesTheSameLogitsWithAllInstructions) {
  std::string logits;
  for (const Op& op : network_.main.block(0).ops()) {
    if (op.type() == "softmax_with_cross_entropy") {
      logits = std::string(op.Input("Logits")->name());
    }
  }
  const auto executor = Executor::Create(network_.main, &scope_);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const std::vector<Feed> feeds = {{network_.image, &image_}, {network_.label, &label_}};
  const auto plan = (*executor)->PlanOf(feeds, {logits});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(ProductsOnIntegers(**plan), 5);
  const auto run = (*executor)->Run(feeds, {logits}, 0);
  ASSERT_TRUE(run.ok()) << run.status();
  std::string first_image;
  for (int i = 0; i < 10; ++i) {
    absl::StrAppendFormat(&first_image, "%.9g ", (*run)[0].data<float>()[i]);
  }
  EXPECT_EQ(first_image,
            "0.0557484291 0.0297453273 -0.00414016005 -0.043402344 0.101973027 -0.0511795133 "
            "0.0229403954 0.0730055347 0.0398103036 0.0359728746 ");
}

// Gradients are products of floats, which every machine adds in an order of its own.
TEST_F(QuantizedNetwork, TrainsToTheSameLoss) {
  const auto executor = Executor::Create(network_.main, &scope_);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const std::vector<Feed> feeds = {{network_.image, &image_}, {network_.label, &label_}};
  for (const double expected : {2.31475449, 2.30781817, 2.29510498}) {
    const auto run = (*executor)->Run(feeds, {network_.loss}, 0);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_NEAR((*run)[0].data<float>()[0], expected, 1e-5);
  }
}

}  // namespace
}  // namespace fixpoint::executor
