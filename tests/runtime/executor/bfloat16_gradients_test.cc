// Gradients in bfloat16: those in floats of the operands that were rounded, which is all that
// differs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/backward_precision.h"
#include "runtime/executor/executor.h"
#include "runtime/kernels/bfloat16.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/runtime/kernels/bfloat16_values.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Tensor Drawn(std::vector<int64_t> dims, uint32_t number) {
  Tensor tensor = *Tensor::Allocate(VarType::FP32, std::move(dims));
  const RandomStream random(1, number, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<float>()[i] = static_cast<float>(2 * random.Uniform(i) - 1);
  }
  return tensor;
}

Tensor& Held(Scope* scope, const std::string& name) {
  return std::get<Tensor>(*scope->FindOrNull(name));
}

float Rounded(float x) { return kernels::ValueOf(kernels::InBfloat16({x})[0]); }

void Round(Tensor* tensor) {
  for (float& x : tensor->mutable_data<float>()) x = Rounded(x);
}

// Rounds the gradient of `pixels` of each filter times the step of its codes, but for a power of
// two.
void RoundTimesSteps(Tensor* gradient, const Tensor& ranges, int64_t pixels) {
  const absl::Span<float> values = gradient->mutable_data<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const float range = ranges.data<float>()[i / pixels % ranges.size()];
    const float step = range / 127;
    const float factor = range != 0 ? std::ldexp(step, -std::ilogb(step)) : 1;
    values[i] = Rounded(values[i] * factor) / factor;
  }
}

struct Gradients {
  std::vector<Tensor> values;
  std::string plan;
};

Gradients Computed(const char* text, BackwardPrecision backward, Scope* scope,
                   const std::vector<std::string>& fetches) {
  const Program program = ParsedProgram(text);
  ExecutorOptions options;
  options.backward = backward;
  const auto executor = Executor::Create(program, scope, options);
  EXPECT_TRUE(executor.ok()) << executor.status();
  auto run = (*executor)->Run({}, fetches, 0);
  EXPECT_TRUE(run.ok()) << run.status();
  return {*std::move(run), (*executor)->PlanText()};
}

// But for the order of sums.
void ExpectEqual(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  float largest = 0;
  for (const float x : expected.data<float>()) largest = std::max(largest, std::fabs(x));
  EXPECT_GT(largest, 0);
  for (int64_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(actual.data<float>()[i], expected.data<float>()[i], 2e-6 * largest) << i;
  }
}

class Bfloat16Gradients : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernels::HasBfloat16Products()) GTEST_SKIP() << "for processors with AVX512_BF16";
  }
};

constexpr char kFloats[] = R"(program version=2006002
  block 0 {
    conv2d_grad(Input=x, Filter=w, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw) {
      paddings=[1, 1]}
    depthwise_conv2d_grad(Input=x, Filter=u, Output@GRAD=dv) -> (
      Input@GRAD=dxu, Filter@GRAD=du) {paddings=[1, 1], strides=[2, 2], groups=24}
    matmul_v2_grad(X=m, Y=n, Out@GRAD=dp) -> (X@GRAD=dm, Y@GRAD=dn) {trans_y=true}
    matmul_grad(X=b, Y=c, Out@GRAD=dd) -> (X@GRAD=db, Y@GRAD=dc) {alpha=0.5}
  })";

TEST_F(Bfloat16Gradients, AreThoseOfRoundedFloats) {
  const std::vector<std::string> operands = {"x", "w",  "dy", "u", "dv", "m",
                                             "n", "dp", "b",  "c", "dd"};
  const std::vector<std::vector<int64_t>> dims = {
      {2, 24, 9, 7}, {16, 24, 3, 3}, {2, 16, 9, 7}, {24, 1, 3, 3}, {2, 24, 5, 4}, {10, 33},
      {12, 33},      {10, 12},       {3, 5, 8},     {1, 8, 6},     {3, 5, 6}};
  Scope scope;
  for (size_t i = 0; i < operands.size(); ++i) {
    scope.Set(operands[i], Drawn(dims[i], static_cast<uint32_t>(i)));
  }
  const std::vector<std::string> fetches = {"dx", "dw", "dxu", "du", "dm", "dn", "db", "dc"};
  const Gradients actual = Computed(kFloats, BackwardPrecision::kBfloat16, &scope, fetches);
  for (const std::string& name : operands) Round(&Held(&scope, name));
  const Gradients expected = Computed(kFloats, BackwardPrecision::kFloat, &scope, fetches);
  for (size_t i = 0; i < fetches.size(); ++i) {
    SCOPED_TRACE(fetches[i]);
    ExpectEqual(actual.values[i], expected.values[i]);
  }
  for (const char* gradient :
       {"conv2d_grad of images", "conv2d_grad of filters", "depthwise_conv2d_grad of images",
        "depthwise_conv2d_grad of filters", "matmul_v2_grad of X", "matmul_grad of Y"}) {
    EXPECT_THAT(actual.plan, ContainsRegex(absl::StrCat(gradient, " <[^>]*bf16[^>]*>")));
  }
  EXPECT_THAT(expected.plan, Not(HasSubstr("bf16")));
}

constexpr char kCodes[] = R"(program version=2006002
  block 0 {
    fake_quantize_dequantize_abs_max(X=x) -> (Out=xd, OutScale=xs) {bit_length=8}
    fake_channel_wise_quantize_dequantize_abs_max(X=w) -> (Out=wd, OutScale=ws) {
      bit_length=8, quant_axis=0}
    conv2d(Input=xd, Filter=wd) -> (Output=y) {paddings=[1, 1]}
    conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw) {
      paddings=[1, 1]}
  })";

// What is rounded is the gradient, times the steps between the codes of the filters.
TEST_F(Bfloat16Gradients, MultiplyCodesExactly) {
  constexpr int64_t kFilters = 16;
  Scope scope;
  scope.Set("x", Drawn({2, 8, 9, 7}, 1));
  scope.Set("w", Drawn({kFilters, 8, 3, 3}, 2));
  scope.Set("dy", Drawn({2, kFilters, 9, 7}, 3));
  // A filter of nothing but zeros has no step, and a gradient.
  for (int64_t i = 0; i < 8 * 3 * 3; ++i) Held(&scope, "w").mutable_data<float>()[i] = 0;
  const Gradients actual =
      Computed(kCodes, BackwardPrecision::kBfloat16, &scope, {"dx", "dw", "ws", "y"});
  RoundTimesSteps(&Held(&scope, "dy"), actual.values[2], 9 * 7);
  const Gradients expected = Computed(kCodes, BackwardPrecision::kFloat, &scope, {"dx", "dw", "y"});
  ExpectEqual(actual.values[0], expected.values[0]);
  ExpectEqual(actual.values[1], expected.values[1]);
  EXPECT_EQ(actual.values[3].bytes(), expected.values[2].bytes());
  EXPECT_THAT(actual.plan, HasSubstr("codes in bf16"));
}

TEST_F(Bfloat16Gradients, OfFiltersDoNotDependOnTheSizeOfTheirSteps) {
  constexpr int64_t kFilters = 16;
  constexpr int64_t kTaps = 8 * 3 * 3;
  Scope scope;
  scope.Set("x", Drawn({2, 8, 9, 7}, 1));
  scope.Set("w", Drawn({kFilters, 8, 3, 3}, 2));
  scope.Set("dy", Drawn({2, kFilters, 9, 7}, 3));
  const absl::Span<float> w = Held(&scope, "w").mutable_data<float>();
  for (float& weight : w.subspan(kTaps, kTaps)) weight *= 1e-33f;
  for (float& weight : w.subspan(2 * kTaps, kTaps)) weight *= 1e-37f;
  for (float& weight : w.subspan(3 * kTaps, kTaps)) weight *= 1e37f;
  for (float& gradient : Held(&scope, "dy").mutable_data<float>()) gradient *= 1e-3f;
  const Gradients actual = Computed(kCodes, BackwardPrecision::kBfloat16, &scope, {"dw", "ws"});
  RoundTimesSteps(&Held(&scope, "dy"), actual.values[1], 9 * 7);
  const Gradients expected = Computed(kCodes, BackwardPrecision::kFloat, &scope, {"dw"});
  ExpectEqual(actual.values[0], expected.values[0]);
}

constexpr char kCodesAndBatchNorm[] = R"(program version=2006002
  block 0 {
    fake_quantize_dequantize_abs_max(X=x) -> (Out=xd, OutScale=xs) {bit_length=8}
    fake_channel_wise_quantize_dequantize_abs_max(X=w) -> (Out=wd, OutScale=ws) {
      bit_length=8, quant_axis=0}
    conv2d(Input=xd, Filter=wd) -> (Output=y) {paddings=[1, 1]}
    batch_norm(X=y, Scale=g, Bias=b, Mean=m, Variance=v) -> (
      Y=n, MeanOut=m2, VarianceOut=v2, SavedMean=sm, SavedVariance=sv)
    relu(X=n) -> (Out=z)
    relu_grad(Out=z, Out@GRAD=dz) -> (X@GRAD=dn)
    batch_norm_grad(X=y, Scale=g, Bias=b, MeanOut=m2, VarianceOut=v2, SavedMean=sm,
      SavedVariance=sv, Y@GRAD=dn) -> (X@GRAD=dy, Scale@GRAD=dg, Bias@GRAD=db)
    conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw) {
      paddings=[1, 1]}
  })";

// The gradient of a batch norm is rounded where it is computed, unless something else reads it.
TEST_F(Bfloat16Gradients, AreRoundedByTheBatchNormBefore) {
  const auto computed = [](const std::vector<std::string>& fetches) {
    Scope scope;
    scope.Set("x", Drawn({2, 8, 9, 7}, 1));
    scope.Set("w", Drawn({16, 8, 3, 3}, 2));
    scope.Set("dz", Drawn({2, 16, 9, 7}, 3));
    for (const char* name : {"g", "b", "m", "v"}) scope.Set(name, Drawn({16}, *name));
    return Computed(kCodesAndBatchNorm, BackwardPrecision::kBfloat16, &scope, fetches);
  };
  const Gradients at_once = computed({"dx", "dw"});
  const Gradients in_steps = computed({"dx", "dw", "dy"});
  EXPECT_THAT(at_once.plan, HasSubstr("batch_norm_grad + relu_grad in bf16"));
  EXPECT_THAT(in_steps.plan, HasSubstr("Output@GRAD in bf16"));
  EXPECT_THAT(in_steps.plan, Not(HasSubstr("relu_grad in bf16")));
  for (const size_t i : {0, 1}) EXPECT_EQ(at_once.values[i].bytes(), in_steps.values[i].bytes());
}

constexpr char kCodesWithZeroPoint[] = R"(program version=2006002
  block 0 {
    fake_quantize_dequantize_affine(X=x, InScale=s, InZeroPoint=z) -> (Out=xd) {
      unsigned_codes=true}
    fake_quantize_dequantize_abs_max(X=w) -> (Out=wd, OutScale=ws) {bit_length=8}
    conv2d(Input=xd, Filter=wd) -> (Output=y) {paddings=[1, 1], strides=[2, 2]}
    conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw) {
      paddings=[1, 1], strides=[2, 2]}
    conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dy) -> (Input@GRAD=only_dx) {
      paddings=[1, 1], strides=[2, 2]}
    conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dy) -> (Filter@GRAD=only_dw) {
      paddings=[1, 1], strides=[2, 2]}
  })";

TEST_F(Bfloat16Gradients, MultiplyCodesWithAZeroPointAndOneRangeOfAllFilters) {
  Scope scope;
  scope.Set("x", Drawn({2, 8, 9, 7}, 1));
  scope.Set("w", Drawn({16, 8, 3, 3}, 2));
  scope.Set("dy", Drawn({2, 16, 5, 4}, 3));
  scope.Set("s", Tensor::FromValues<float>({1}, {0.008f}));
  scope.Set("z", Tensor::FromValues<float>({1}, {100}));
  const Gradients actual = Computed(kCodesWithZeroPoint, BackwardPrecision::kBfloat16, &scope,
                                    {"dx", "dw", "only_dx", "only_dw", "ws"});
  RoundTimesSteps(&Held(&scope, "dy"), actual.values[4], 5 * 4);
  const Gradients expected =
      Computed(kCodesWithZeroPoint, BackwardPrecision::kFloat, &scope, {"dx", "dw"});
  ExpectEqual(actual.values[0], expected.values[0]);
  ExpectEqual(actual.values[1], expected.values[1]);
  EXPECT_EQ(actual.values[2].bytes(), actual.values[0].bytes());
  EXPECT_EQ(actual.values[3].bytes(), actual.values[1].bytes());
  EXPECT_THAT(actual.plan, HasSubstr("codes in bf16"));
  EXPECT_THAT(actual.plan, HasSubstr("of filters"));
}

constexpr char kCodesOfProduct[] = R"(program version=2006002
  block 0 {
    fake_quantize_dequantize_affine(X=x, InScale=s, InZeroPoint=z) -> (Out=xd) {
      unsigned_codes=true}
    fake_quantize_dequantize_abs_max(X=w) -> (Out=wd, OutScale=ws) {bit_length=8}
    matmul(X=xd, Y=wd) -> (Out=y) {alpha=0.375}
    matmul_grad(X=xd, Y=wd, Out@GRAD=dy) -> (X@GRAD=dx, Y@GRAD=dw) {alpha=0.375}
    matmul_grad(X=xd, Y=wd, Out@GRAD=dy) -> (X@GRAD=only_dx) {alpha=0.375}
    matmul_grad(X=xd, Y=wd, Out@GRAD=dy) -> (Y@GRAD=only_dw) {alpha=0.375}
  })";

// What is rounded is the gradient alone.
TEST_F(Bfloat16Gradients, MultiplyCodesOfProductsExactly) {
  Scope scope;
  scope.Set("x", Drawn({10, 33}, 1));
  scope.Set("w", Drawn({33, 12}, 2));
  scope.Set("dy", Drawn({10, 12}, 3));
  scope.Set("s", Tensor::FromValues<float>({1}, {0.008f}));
  scope.Set("z", Tensor::FromValues<float>({1}, {100}));
  const Gradients actual = Computed(kCodesOfProduct, BackwardPrecision::kBfloat16, &scope,
                                    {"dx", "dw", "only_dx", "only_dw"});
  Round(&Held(&scope, "dy"));
  const Gradients expected =
      Computed(kCodesOfProduct, BackwardPrecision::kFloat, &scope, {"dx", "dw"});
  ExpectEqual(actual.values[0], expected.values[0]);
  ExpectEqual(actual.values[1], expected.values[1]);
  EXPECT_EQ(actual.values[2].bytes(), actual.values[0].bytes());
  EXPECT_EQ(actual.values[3].bytes(), actual.values[1].bytes());
  EXPECT_THAT(actual.plan, HasSubstr("codes in bf16"));
}

constexpr char kColumnsInPadding[] = R"(program version=2006002
  block 0 {
    conv2d_grad(Input=a, Filter=u, Output@GRAD=da) -> (Input@GRAD=dxa, Filter@GRAD=du) {
      paddings=[1, 1], strides=[2, 2]}
    depthwise_conv2d_grad(Input=b, Filter=v, Output@GRAD=db) -> (
      Input@GRAD=dxb, Filter@GRAD=dv) {paddings=[2, 2], strides=[2, 2], groups=32}
    conv2d_grad(Input=c, Filter=w, Output@GRAD=dc) -> (Input@GRAD=dxc, Filter@GRAD=dw) {
      paddings=[1, 1], strides=[3, 3]}
  })";

TEST_F(Bfloat16Gradients, OfFiltersStayFloatsWhereAColumnMeetsOnlyPadding) {
  const std::vector<std::string> operands = {"a", "u", "da", "b", "v", "db", "c", "w", "dc"};
  const std::vector<std::vector<int64_t>> dims = {{2, 16, 8, 1}, {32, 16, 3, 3}, {2, 32, 4, 1},
                                                  {2, 32, 5, 1}, {32, 1, 5, 5},  {2, 32, 3, 1},
                                                  {2, 16, 2, 2}, {32, 16, 3, 3}, {2, 32, 1, 1}};
  Scope scope;
  for (size_t i = 0; i < operands.size(); ++i) {
    scope.Set(operands[i], Drawn(dims[i], static_cast<uint32_t>(i)));
  }
  const std::vector<std::string> of_filters = {"du", "dv", "dw"};
  const std::vector<std::string> of_images = {"dxa", "dxb", "dxc"};
  const BackwardPrecision kBfloat16 = BackwardPrecision::kBfloat16;
  const Gradients filters = Computed(kColumnsInPadding, kBfloat16, &scope, of_filters);
  const Gradients images = Computed(kColumnsInPadding, kBfloat16, &scope, of_images);
  const Gradients floats =
      Computed(kColumnsInPadding, BackwardPrecision::kFloat, &scope, of_filters);
  for (const std::string& name : operands) Round(&Held(&scope, name));
  const Gradients rounded =
      Computed(kColumnsInPadding, BackwardPrecision::kFloat, &scope, of_images);
  for (size_t i = 0; i < of_filters.size(); ++i) {
    SCOPED_TRACE(of_filters[i]);
    EXPECT_EQ(filters.values[i].bytes(), floats.values[i].bytes());
    ExpectEqual(images.values[i], rounded.values[i]);
  }
  EXPECT_THAT(images.plan, ContainsRegex("of images <[^>]*bf16[^>]*>"));
}

constexpr char kSteppingPixels[] = R"(program version=2006002
  block 0 {
    conv2d_grad(Input=x, Filter=w, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw) {
      strides=[2, 2]}
  })";

TEST_F(Bfloat16Gradients, StayFloatsWhereThatIsFaster) {
  Scope scope;
  scope.Set("x", Drawn({2, 16, 8, 8}, 1));
  scope.Set("w", Drawn({32, 16, 1, 1}, 2));
  scope.Set("dy", Drawn({2, 32, 4, 4}, 3));
  const Gradients in_float =
      Computed(kSteppingPixels, BackwardPrecision::kFloat, &scope, {"dx", "dw"});
  const Gradients in_bfloat16 =
      Computed(kSteppingPixels, BackwardPrecision::kBfloat16, &scope, {"dx", "dw"});
  EXPECT_EQ(in_bfloat16.values[0].bytes(), in_float.values[0].bytes());
  EXPECT_NE(in_bfloat16.values[1].bytes(), in_float.values[1].bytes());
}

TEST(BackwardInBfloat16, IsRefusedByProcessorsWithoutIt) {
  if (kernels::HasBfloat16Products()) GTEST_SKIP() << "for processors without AVX512_BF16";
  const Program program = ParsedProgram(kFloats);
  Scope scope;
  ExecutorOptions options;
  options.backward = BackwardPrecision::kBfloat16;
  EXPECT_EQ(Executor::Create(program, &scope, options).status(),
            absl::FailedPreconditionError(
                "products in bf16 need AVX512_BF16, which this processor lacks or "
                "ONEDNN_MAX_CPU_ISA leaves out; want f32"));
}

}  // namespace
}  // namespace fixpoint::executor
