// The kernel of a convolution or product does the work of the ops after it, with the same bits as
// separate steps, and only where nothing else reads the values between.

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

Tensor Drawn(std::vector<int64_t> dims, uint32_t number, float lowest = -1) {
  Tensor tensor = *Tensor::Allocate(VarType::FP32, std::move(dims));
  const RandomStream random(1, number, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<float>()[i] = static_cast<float>((1 - lowest) * random.Uniform(i) + lowest);
  }
  return tensor;
}

struct Case {
  const char* name;
  const char* program;
  const char* steps;  // of the plan, but those that pack weights, when `out` alone is fetched
};

#define QUANTIZED_OPERANDS                                                          \
  "fake_quantize_dequantize_abs_max(X=x) -> (Out=xq, OutScale=xs) {bit_length=8}\n" \
  "fake_channel_wise_quantize_dequantize_abs_max(X=w) -> (Out=wq, OutScale=ws) {"   \
  "bit_length=8, quant_axis=0}\n"
#define QUANTIZED_STEPS                                        \
  "find range\nfake_quantize_dequantize_abs_max\nfind range\n" \
  "fake_channel_wise_quantize_dequantize_abs_max\n"

const Case kCases[] = {
    {"Bias",
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "elementwise_add(X=y, Y=b) -> (Out=out) {axis=1}\n",
     "to channels last\nconv2d + elementwise_add\nto row major"},
    {"BiasNormAndRelu",
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "elementwise_add(X=y, Y=b) -> (Out=z) {axis=1}\n"
     "batch_norm(X=z, Scale=s, Bias=b, Mean=m, Variance=v) -> (Y=n, MeanOut=m, VarianceOut=v,\n"
     "  SavedMean=sm, SavedVariance=sv) {is_test=true}\n"
     "relu(X=n) -> (Out=out)\n",
     "to channels last\nbatch_norm factors\nconv2d + elementwise_add + batch_norm + relu\n"
     "to row major"},
    {"ResidualOfIntegers",
     QUANTIZED_OPERANDS
     "conv2d(Input=xq, Filter=wq) -> (Output=y)\n"
     "batch_norm(X=y, Scale=s, Bias=b, Mean=m, Variance=v) -> (Y=n, MeanOut=m2, VarianceOut=v2,\n"
     "  SavedMean=sm, SavedVariance=sv) {is_test=true}\n"
     "elementwise_add(X=residual, Y=n) -> (Out=sum)\n"
     "relu(X=sum) -> (Out=out)\n",
     QUANTIZED_STEPS "to channels last\nbatch_norm factors\nto channels last\n"
                     "conv2d on integers + batch_norm + elementwise_add + relu\nto row major"},
    // Codes are added by one rounding, and their range is not known before the run.
    {"ResidualOfCodes",
     "var n f32[-1,9,4,5]\nvar rq f32[-1,9,4,5]\n" QUANTIZED_OPERANDS
     "fake_quantize_dequantize_abs_max(X=residual) -> (Out=rq, OutScale=rs) {bit_length=8}\n"
     "conv2d(Input=xq, Filter=wq) -> (Output=y)\n"
     "batch_norm(X=y, Scale=s, Bias=b, Mean=m, Variance=v) -> (Y=n, MeanOut=m2, VarianceOut=v2,\n"
     "  SavedMean=sm, SavedVariance=sv) {is_test=true}\n"
     "elementwise_add(X=rq, Y=n) -> (Out=sum)\n"
     "relu(X=sum) -> (Out=out)\n",
     QUANTIZED_STEPS "find range\nfake_quantize_dequantize_abs_max\nto channels last\n"
                     "batch_norm factors\nconv2d on integers + batch_norm\nto channels last\n"
                     "elementwise_add of codes + relu\nto row major"},
    {"ResidualUnderTheOutput",
     "relu(X=residual) -> (Out=r)\n"
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "elementwise_add(X=r, Y=y) -> (Out=out)\n",
     "relu\nto channels last\nto channels last\nconv2d + elementwise_add\nto row major"},
    {"ResidualThatIsReadLater",
     "relu(X=residual) -> (Out=r)\n"
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "elementwise_add(X=r, Y=y) -> (Out=z)\n"
     "elementwise_mul(X=z, Y=r) -> (Out=out)\n",
     "relu\nto channels last\nto channels last\nconv2d + elementwise_add\nelementwise_mul\n"
     "to row major"},
    // The residual keeps its place, so it is copied.
    {"ResidualThatAnotherNameHas",
     "pool2d(X=residual) -> (Out=r) {pooling_type=\"max\", ksize=[1, 1]}\n"
     "assign(X=r) -> (Out=q)\n"
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "elementwise_add(X=r, Y=y) -> (Out=z)\n"
     "elementwise_mul(X=z, Y=q) -> (Out=out)\n",
     "to channels last\npool2d\nto channels last\nconv2d + elementwise_add\nelementwise_mul\n"
     "to row major"},
    {"ProductWithBias",
     "mul(X=rows, Y=matrix) -> (Out=y)\n"
     "elementwise_add(X=y, Y=row) -> (Out=z)\n"
     "relu(X=z) -> (Out=out)\n",
     "mul + elementwise_add + relu"},
    {"BatchNormOfTheBatchIsAStepOfItsOwn",
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "batch_norm(X=y, Scale=s, Bias=b, Mean=m, Variance=v) -> (Y=n, MeanOut=m, VarianceOut=v,\n"
     "  SavedMean=sm, SavedVariance=sv)\n"
     "relu(X=n) -> (Out=out)\n",
     "to channels last\nconv2d\nbatch_norm statistics\nbatch_norm + relu\nto row major"},
    {"GradientsOfNormAndReluAreOneStep",
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "batch_norm(X=y, Scale=s, Bias=b, Mean=m, Variance=v) -> (Y=n, MeanOut=m, VarianceOut=v,\n"
     "  SavedMean=sm, SavedVariance=sv)\n"
     "relu(X=n) -> (Out=a)\n"
     "relu_grad(Out=a, Out@GRAD=residual) -> (X@GRAD=dn)\n"
     "batch_norm_grad(X=y, Scale=s, Bias=b, MeanOut=m, VarianceOut=v, SavedMean=sm,\n"
     "  SavedVariance=sv, Y@GRAD=dn) -> (X@GRAD=out, Scale@GRAD=ds, Bias@GRAD=db)\n",
     "to channels last\nconv2d\nbatch_norm statistics\nto channels last\n"
     "batch_norm_grad statistics\nbatch_norm_grad + relu_grad\nto row major"},
    {"WhatElseIsReadIsHeld",
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "relu(X=y) -> (Out=z)\n"
     "elementwise_add(X=z, Y=y) -> (Out=out)\n",
     "to channels last\nconv2d\nrelu + elementwise_add\nto row major"},
    // A gradient knows only the shape of a sum, and only the result of a relu.
    {"BackwardReadsWhatIsHeld",
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "elementwise_add(X=y, Y=b) -> (Out=z) {axis=1}\n"
     "relu(X=z) -> (Out=a)\n"
     "relu_grad(Out=a, Out@GRAD=a) -> (X@GRAD=dz)\n"
     "elementwise_add_grad(X=y, Y=b, Out@GRAD=dz) -> (X@GRAD=dy, Y@GRAD=db) {axis=1}\n"
     "conv2d_grad(Input=x, Filter=w, Output@GRAD=dy) -> (Filter@GRAD=out)\n",
     "to channels last\nconv2d + elementwise_add + relu\nrelu_grad\nconv2d_grad of filters"},
    // With the rank of X: its dimensions are aligned with X's, whatever the axis.
    {"BiasOfEveryDimension",
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "reshape2(X=b) -> (Out=c, XShape=s1) {shape=[1, 9, 1, 1]}\n"
     "elementwise_add(X=y, Y=c) -> (Out=out) {axis=1}\n",
     "to channels last\nconv2d\nelementwise_add\nto row major"},
    {"BiasOfEveryDimensionBefore",
     "reshape2(X=b) -> (Out=c, XShape=s1) {shape=[1, 9, 1, 1]}\n"
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "elementwise_add(X=y, Y=c) -> (Out=out) {axis=1}\n",
     "to channels last\nconv2d + elementwise_add\nto row major"},
    {"OneNumberForEachImage",
     "conv2d(Input=squares, Filter=square) -> (Output=y)\n"
     "elementwise_add(X=y, Y=two) -> (Out=out) {axis=1}\n",
     "to channels last\nconv2d\nelementwise_add\nto row major"},
    {"OneNumberForEachRow",
     "mul(X=squarerows, Y=squarematrix) -> (Out=y)\n"
     "elementwise_add(X=y, Y=tworows) -> (Out=out) {axis=1}\n",
     "mul\nelementwise_add"},
    {"WhatIsAfterPersists",
     "var out f32[4,9] persistable\n"
     "mul(X=rows, Y=matrix) -> (Out=y)\n"
     "relu(X=y) -> (Out=out)\n",
     "mul + relu"},
    {"OneNameIsWrittenTwice",
     "mul(X=rows, Y=matrix) -> (Out=y)\n"
     "relu(X=y) -> (Out=y)\n"
     "elementwise_add(X=y, Y=row) -> (Out=out)\n",
     "mul + relu + elementwise_add"},
    {"ANanPassesTheReluOf1x",
     "program version=1008005\nblock 0 {\n"
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "relu(X=y) -> (Out=out)\n}\n",
     "to channels last\nconv2d\nrelu\nto row major"},
    {"LeakyRelu",
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "leaky_relu(X=y) -> (Out=out) {alpha=0.1}\n",
     "to channels last\nconv2d + leaky_relu\nto row major"},
    // The op turns a 0 into one of the other sign, and the stage does not.
    {"LeakyReluOfANegativeSlope",
     "mul(X=rows, Y=matrix) -> (Out=y)\n"
     "leaky_relu(X=y) -> (Out=out) {alpha=-0.1}\n",
     "mul\nleaky_relu"},
    {"HardSwish",
     "mul(X=rows, Y=matrix) -> (Out=y)\n"
     "hard_swish(X=y) -> (Out=out)\n",
     "mul + hard_swish"},
    {"HardSwishOfIntegers",
     QUANTIZED_OPERANDS "conv2d(Input=xq, Filter=wq) -> (Output=y)\n"
                        "elementwise_add(X=y, Y=b) -> (Out=z) {axis=1}\n"
                        "hard_swish(X=z) -> (Out=out)\n",
     QUANTIZED_STEPS
     "to channels last\nconv2d on integers + elementwise_add + hard_swish\nto row major"},
    {"HardSwishThatEndsElsewhere",
     "mul(X=rows, Y=matrix) -> (Out=y)\n"
     "hard_swish(X=y) -> (Out=out) {scale=5.0}\n",
     "mul\nhard_swish"},
    // A NaN has the code of 0.
    {"ReluOf1xBecomesCodes",
     "program version=1008005\nblock 0 {\n"
     "mul(X=rows, Y=matrix) -> (Out=y)\n"
     "relu(X=y) -> (Out=a)\n"
     "reshape2(X=a) -> (Out=r, XShape=s1) {shape=[-1]}\n"
     "fake_quantize_moving_average_abs_max(X=r, InScale=one) -> (Out=q, OutScale=one)"
     " {is_test=true}\n"
     "fake_dequantize_max_abs(X=q, Scale=one) -> (Out=out) {max_range=127.0}\n}\n",
     "mul + relu\nfake_quantize_moving_average_abs_max\ndequantize"},
    {"Relu6BecomesCodes",
     "mul(X=rows, Y=matrix) -> (Out=y)\n"
     "relu6(X=y) -> (Out=a)\n"
     "fake_quantize_moving_average_abs_max(X=a, InScale=one) -> (Out=q, OutScale=one)"
     " {is_test=true}\n"
     "fake_dequantize_max_abs(X=q, Scale=one) -> (Out=out) {max_range=127.0}\n",
     "mul + relu6\nfake_quantize_moving_average_abs_max\ndequantize"},
    // The op finds a range from values that include a NaN, which is not the same as a 0.
    {"Relu6BeforeARangeThatIsFoundAnew",
     "mul(X=rows, Y=matrix) -> (Out=y)\n"
     "relu6(X=y) -> (Out=a)\n"
     "fake_quantize_dequantize_abs_max(X=a) -> (Out=out, OutScale=s1)\n",
     "mul\nrelu6\nfind range\nfake_quantize_dequantize_abs_max\ndequantize"},
    {"ANanPassesRelu6",
     "conv2d(Input=x, Filter=w) -> (Output=y)\n"
     "relu6(X=y) -> (Out=out)\n",
     "to channels last\nconv2d\nrelu6\nto row major"},
};

std::string Whole(const std::string& ops) {
  return ops.rfind("program", 0) == 0 ? ops : "program version=2006002\nblock 0 {\n" + ops + "}\n";
}

class Epilogues : public testing::TestWithParam<Case> {};

TEST_P(Epilogues, HaveTheBitsOfStepsOfTheirOwn) {
  const Program program = ParsedProgram(Whole(GetParam().program));
  Scope scope;
  scope.Set("x", Drawn({2, 5, 6, 7}, 1));
  scope.Set("w", Drawn({9, 5, 3, 3}, 2));
  scope.Set("residual", Drawn({2, 9, 4, 5}, 3));
  scope.Set("rows", Drawn({4, 7}, 4));
  scope.Set("matrix", Drawn({7, 9}, 5));
  scope.Set("row", Drawn({9}, 6));
  scope.Set("squares", Drawn({2, 2, 3, 3}, 9));
  scope.Set("square", Drawn({2, 2, 1, 1}, 10));
  scope.Set("two", Drawn({2, 1, 1, 1}, 11));
  scope.Set("squarerows", Drawn({2, 2}, 12));
  scope.Set("squarematrix", Drawn({2, 2}, 13));
  scope.Set("tworows", Drawn({2, 1}, 14));
  scope.Set("one", Tensor::FromValues<float>({1}, {1}));
  for (const char* name : {"s", "b", "m"}) scope.Set(name, Drawn({9}, 7));
  scope.Set("v", Drawn({9}, 8, /*lowest=*/0.1f));
  ExecutorOptions options;
  const auto fused = Executor::Create(program, &scope, options);
  // Where every value is checked, every value is held.
  options.check_finite = true;
  const auto apart = Executor::Create(program, &scope, options);
  ASSERT_TRUE(fused.ok() && apart.ok()) << fused.status() << apart.status();
  const auto plan = (*fused)->PlanOf({}, {"out"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<std::string> steps;
  for (const Step& step : (*plan)->steps) {
    if (step.name != "pack weights") steps.push_back(step.name);
  }
  EXPECT_EQ(absl::StrJoin(steps, "\n"), GetParam().steps);
  const auto one = (*fused)->Run({}, {"out"}, 0);
  const auto other = (*apart)->Run({}, {"out"}, 0);
  ASSERT_TRUE(one.ok() && other.ok()) << one.status() << other.status();
  EXPECT_EQ((*one)[0].bytes(), (*other)[0].bytes());
}

INSTANTIATE_TEST_SUITE_P(Cases, Epilogues, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// A stage makes a NaN a number, of which a batch norm makes another one; an op keeps it, and a code
// of NaN is 0.
TEST(Epilogue, NanHasTheCodeOfWhatANormMakesOfTheStagesNumber) {
  const Program program = ParsedProgram(Whole(
      "mul(X=rows, Y=matrix) -> (Out=y)\nelementwise_add(X=y, Y=row) -> (Out=z)\n"
      "relu6(X=z) -> (Out=a)\n"
      "batch_norm(X=a, Scale=s, Bias=b, Mean=m, Variance=s) -> (Y=n, MeanOut=m2, VarianceOut=v2,\n"
      "  SavedMean=sm, SavedVariance=sv) {is_test=true}\n"
      "fake_quantize_moving_average_abs_max(X=n, InScale=one) -> (Out=q, OutScale=one)"
      " {is_test=true}\n"
      "fake_dequantize_max_abs(X=q, Scale=one) -> (Out=out) {max_range=127.0}\n"));
  Scope scope;
  scope.Set("rows", Drawn({4, 7}, 1));
  scope.Set("matrix", Drawn({7, 1}, 2));
  scope.Set("row", Tensor::FromValues<float>({1}, {std::numeric_limits<float>::quiet_NaN()}));
  scope.Set("one", Tensor::FromValues<float>({1}, {1}));
  scope.Set("s", Tensor::FromValues<float>({1}, {1}));
  scope.Set("b", Tensor::FromValues<float>({1}, {0.75f}));
  scope.Set("m", Tensor::FromValues<float>({1}, {0}));
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto folded = (*executor)->Run({}, {"out"}, 0);
  const auto held = (*executor)->Run({}, {"out", "a"}, 0);
  ASSERT_TRUE(folded.ok() && held.ok()) << folded.status() << held.status();
  EXPECT_EQ((*folded)[0].data<float>()[0], 95.0f / 127.0f);
  EXPECT_EQ((*held)[0].data<float>()[0], 0);
}

// A stage that adds codes takes their memory for its output, but not that of codes that the product
// still reads.
TEST(Epilogue, DoesNotWriteOverCodesThatAreMultipliedToo) {
  constexpr char kQuantize[] =
      " {multiplier=127.0, smallest_code=-127, out_dtype=21, out_range=1.0, "
      "out_largest_code=127}\n";
  const Program program = ParsedProgram(Whole(absl::StrCat(
      "integer_quantize(X=a) -> (Out=x)", kQuantize, "integer_quantize(X=h) -> (Out=y)", kQuantize,
      "integer_matmul(X=x, Y=y, Scales=scales, Operands=[y]) -> (Out=out) {"
      "epilogue=[\"add_int8\", \"multiply\"], epilogue_a=[0.0078125, 40.0], "
      "epilogue_b=[0.0, 0.0], out_dtype=21, out_range=2.0, out_largest_code=127}\n")));
  Scope scope;
  scope.Set("a", Drawn({3, 256, 256}, 1));
  scope.Set("h", Drawn({3, 256, 64}, 2));
  scope.Set("scales", Tensor::FromValues<float>({64}, std::vector<float>(64, 1e-5f)));
  for (int threads : {1, 2}) {
    ExecutorOptions options;
    options.threads = threads;
    const auto executor = Executor::Create(program, &scope, options);
    ASSERT_TRUE(executor.ok()) << executor.status();
    const auto held = (*executor)->Run({}, {"out", "y"}, 0);
    const auto alone = (*executor)->Run({}, {"out"}, 0);
    ASSERT_TRUE(held.ok() && alone.ok()) << held.status() << alone.status();
    EXPECT_EQ((*alone)[0].bytes(), (*held)[0].bytes()) << threads << " threads";
  }
}

// A kernel does no work that the op would refuse to do.
TEST(Epilogue, IsRefusedAsItsOpIs) {
  for (const char* axis : {"-2", "2", "9223372036854775807"}) {
    const Program program = ParsedProgram(Whole(absl::StrCat(
        "mul(X=rows, Y=matrix) -> (Out=y)\nelementwise_add(X=y, Y=row) -> (Out=out) {axis=", axis,
        "L}\n")));
    Scope scope;
    scope.Set("rows", Drawn({9, 7}, 1));
    scope.Set("matrix", Drawn({7, 9}, 2));
    scope.Set("row", Drawn({9}, 3));
    const auto executor = Executor::Create(program, &scope);
    ASSERT_TRUE(executor.ok()) << executor.status();
    EXPECT_EQ(
        (*executor)->Run({}, {"out"}, 0).status(),
        absl::InvalidArgumentError(absl::StrCat("block 0, op 1 (elementwise_add): axis ", axis,
                                                " does not place [9] inside 2 dimensions")));
  }
}

}  // namespace
}  // namespace fixpoint::executor
