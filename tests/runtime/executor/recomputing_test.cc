// Values that are computed again where the backward pass reads them: the same bits, in less memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "proto/program/program.h"
#include "runtime/backward_precision.h"
#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kLayers = 6;

// A convolution of codes, batch norm and relu; every second layer adds the input of the one before.
std::string LayerText(int layer) {
  const bool adds = layer % 2 == 1;
  return absl::StrReplaceAll(
      absl::StrCat(R"(
    var m# f32[16] persistable
    var v# f32[16] persistable
    var z# f32[8,16,12,12]
    var n# f32[8,16,12,12]
    var a# f32[8,16,12,12]
    var q# f32[8,16,12,12]
    fake_quantize_dequantize_abs_max(X=z#) -> (Out=q#, OutScale=r#) {bit_length=8}
    fake_channel_wise_quantize_dequantize_abs_max(X=w#) -> (Out=u#, OutScale=s#) {
      bit_length=8, quant_axis=0}
    conv2d(Input=q#, Filter=u#) -> (Output=y#) {paddings=[1, 1]}
    batch_norm(X=y#, Scale=g, Bias=b, Mean=m#, Variance=v#) -> (
      Y=n#, MeanOut=m#, VarianceOut=v#, SavedMean=c#, SavedVariance=d#)
)",
                   adds
                       ? "    elementwise_add(X=n#, Y=q&) -> (Out=a#)\n    relu(X=a#) -> (Out=z%)\n"
                       : "    relu(X=n#) -> (Out=z%)\n"),
      {{"#", absl::StrCat(layer)}, {"%", absl::StrCat(layer + 1)}, {"&", absl::StrCat(layer - 1)}});
}

// Its gradient: that of its input also has what is added later.
std::string GradientText(int layer) {
  const bool adds = layer % 2 == 1;
  const bool is_added = !adds;
  return absl::StrReplaceAll(
      absl::StrCat(adds ? R"(
    relu_grad(Out=z%, Out@GRAD=z%@GRAD) -> (X@GRAD=a#@GRAD)
    elementwise_add_grad(X=n#, Y=q&, Out@GRAD=a#@GRAD) -> (X@GRAD=n#@GRAD, Y@GRAD=q&@GRAD@ADDED)
)"
                        : "    relu_grad(Out=z%, Out@GRAD=z%@GRAD) -> (X@GRAD=n#@GRAD)\n",
                   R"(
    batch_norm_grad(X=y#, Scale=g, Bias=b, MeanOut=m#, VarianceOut=v#, SavedMean=c#,
      SavedVariance=d#, Y@GRAD=n#@GRAD) -> (X@GRAD=y#@GRAD, Scale@GRAD=g#, Bias@GRAD=b#)
    conv2d_grad(Input=q#, Filter=u#, Output@GRAD=y#@GRAD) -> (
      Input@GRAD=q#@GRAD@OWN, Filter@GRAD=w#@GRAD) {paddings=[1, 1]}
)",
                   is_added ? "    sum(X=[q#@GRAD@OWN, q#@GRAD@ADDED]) -> (Out=z#@GRAD)\n"
                            : "    assign(X=q#@GRAD@OWN) -> (Out=z#@GRAD)\n"),
      {{"#", absl::StrCat(layer)}, {"%", absl::StrCat(layer + 1)}, {"&", absl::StrCat(layer - 1)}});
}

Program Network() {
  std::string text = "program version=2006002\nblock 0 {\n";
  absl::StrAppend(&text, "relu(X=x) -> (Out=z0)\n");
  for (int layer = 0; layer < kLayers; ++layer) absl::StrAppend(&text, LayerText(layer));
  absl::StrAppend(&text, "scale(X=z", kLayers, ") -> (Out=z", kLayers, "@GRAD) {scale=0.5}\n");
  for (int layer = kLayers; layer-- > 0;) absl::StrAppend(&text, GradientText(layer));
  return ParsedProgram(absl::StrCat(text, "}\n"));
}

Tensor Drawn(std::vector<int64_t> dims, uint32_t number) {
  Tensor tensor = *Tensor::Allocate(VarType::FP32, std::move(dims));
  const RandomStream random(1, number, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<float>()[i] = static_cast<float>(2 * random.Uniform(i) - 0.5);
  }
  return tensor;
}

struct Trained {
  std::vector<Tensor> values;
  std::string plan;
  int64_t arena_bytes;
};

// Two runs, so that the second one finds what the first has left.
Trained TrainedWith(double recomputing, BackwardPrecision backward) {
  const Program program = Network();
  Scope scope;
  scope.Set("x", Drawn({8, 16, 12, 12}, 1));
  scope.Set("g", Drawn({16}, 2));
  scope.Set("b", Drawn({16}, 3));
  std::vector<std::string> fetches = {"z0@GRAD"};
  for (int layer = 0; layer < kLayers; ++layer) {
    scope.Set(absl::StrCat("w", layer), Drawn({16, 16, 3, 3}, 4 + layer));
    scope.Set(absl::StrCat("m", layer), Drawn({16}, 20 + layer));
    scope.Set(absl::StrCat("v", layer), Drawn({16}, 40 + layer));
    for (const char* name : {"w#@GRAD", "g#", "b#", "v#"}) {
      fetches.push_back(absl::StrReplaceAll(name, {{"#", absl::StrCat(layer)}}));
    }
  }
  ExecutorOptions options;
  options.recomputing = recomputing;
  options.backward = backward;
  const auto executor = Executor::Create(program, &scope, options);
  EXPECT_TRUE(executor.ok()) << executor.status();
  Trained trained;
  for (const uint32_t step : {0, 1}) {
    auto values = (*executor)->Run({}, fetches, step);
    EXPECT_TRUE(values.ok()) << values.status();
    for (Tensor& value : *values) trained.values.push_back(std::move(value));
  }
  trained.plan = (*executor)->PlanText();
  trained.arena_bytes = (*(*executor)->PlanOf({}, fetches))->arena_bytes;
  return trained;
}

class ComputingAgain : public testing::TestWithParam<BackwardPrecision> {};

TEST_P(ComputingAgain, GivesTheSameBitsInLessMemory) {
  if (!CheckBackward(GetParam()).ok()) GTEST_SKIP() << CheckBackward(GetParam());
  const Trained held = TrainedWith(0, GetParam());
  EXPECT_THAT(held.plan, Not(HasSubstr(" again")));
  int64_t most = held.arena_bytes;
  for (const double part : {0.05, 0.2, 1.0}) {
    SCOPED_TRACE(part);
    const Trained again = TrainedWith(part, GetParam());
    ASSERT_EQ(again.values.size(), held.values.size());
    for (size_t i = 0; i < held.values.size(); ++i) {
      EXPECT_EQ(again.values[i].bytes(), held.values[i].bytes()) << i;
    }
    EXPECT_LE(again.arena_bytes, most);
    most = again.arena_bytes;
    if (part < 1) continue;
    EXPECT_THAT(again.plan, HasSubstr("conv2d on integers again"));
    EXPECT_LT(again.arena_bytes, held.arena_bytes * 2 / 3);
  }
}

INSTANTIATE_TEST_SUITE_P(In, ComputingAgain,
                         testing::Values(BackwardPrecision::kFloat, BackwardPrecision::kBfloat16),
                         [](const auto& info) {
                           return std::string(BackwardPrecisionName(info.param));
                         });

// The relu after a sum with codes leaves a byte for each element, and not a float.
TEST(Relu, AfterASumWithCodesHoldsWhichElementsItPasses) {
  const Trained held = TrainedWith(0, BackwardPrecision::kFloat);
  EXPECT_THAT(held.plan, HasSubstr("relu_grad"));
  EXPECT_THAT(held.plan, HasSubstr("elementwise_add.passed u8[18432]"));
}

}  // namespace
}  // namespace fixpoint::executor
