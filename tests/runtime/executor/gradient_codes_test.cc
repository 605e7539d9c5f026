// Gradients as codes, which are multiplied on integers where their scales leave the sums.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string InProgram(const std::string& ops) {
  return absl::StrCat("program version=2006002\nblock 0 {\n", ops, "\n}\n");
}

constexpr char kCodesOfGradient[] =
    "fake_quantize_dequantize_stochastic_abs_max(X=dy) -> (Out=dyd, OutScale=ds) {seed=3}\n";

std::string Ones(const std::string& name, const std::string& dims, int count) {
  std::string line = absl::StrCat(name, " f32[", dims, "]");
  for (int i = 0; i < count; ++i) line += " 1";
  return line + "\n";
}

// Programs, values, the gradients, and the steps that are on integers.
struct Case {
  const char* name;
  std::string ops;
  std::string values;
  std::vector<std::string> on_integers;
  std::vector<std::string> in_float;
};

constexpr char kCodesOfX[] =
    "fake_quantize_dequantize_abs_max(X=x) -> (Out=xd, OutScale=xs) {bit_length=8}\n";
constexpr char kCodesOfPositiveX[] =
    "relu(X=x) -> (Out=r)\n"
    "fake_quantize_dequantize_abs_max(X=r) -> (Out=xd, OutScale=xs) {bit_length=9}\n";
constexpr char kCodesOfW[] =
    "fake_quantize_dequantize_abs_max(X=w) -> (Out=wd, OutScale=ws) {bit_length=8}\n";

std::vector<Case> Cases() {
  const std::string codes = absl::StrCat(kCodesOfX, kCodesOfW, kCodesOfGradient);
  const std::string of_positive = absl::StrCat(kCodesOfPositiveX, kCodesOfW, kCodesOfGradient);
  const std::string matrices = Drawn("x", {10, 33}) + Drawn("w", {33, 12}) + Drawn("dy", {10, 12});
  const std::string images = Drawn("x", {2, 8, 9, 7}) + Drawn("w", {16, 8, 3, 3});
  const std::string mul = "mul_grad(X=xd, Y=wd, Out@GRAD=dyd) -> (X@GRAD=dx, Y@GRAD=dw)";
  return {
      {"mul", codes + mul, matrices, {"mul_grad of X", "mul_grad of Y"}, {}},
      {"mul of unsigned codes",
       of_positive + mul,
       matrices,
       {"mul_grad of X", "mul_grad of Y"},
       {}},
      {"matmul, transposed",
       codes + "matmul_v2_grad(X=xd, Y=wd, Out@GRAD=dyd) -> (X@GRAD=dx, Y@GRAD=dw) {trans_x=true, "
               "trans_y=true}",
       Drawn("x", {33, 10}) + Drawn("w", {12, 33}) + Drawn("dy", {10, 12}),
       {"matmul_v2_grad of X", "matmul_v2_grad of Y"},
       {}},
      {"matmul of unsigned codes on the right",
       of_positive +
           "matmul_grad(X=xd, Y=wd, Out@GRAD=dyd) -> (X@GRAD=dx, Y@GRAD=dw) {transpose_Y=true, "
           "alpha=0.5}",
       Drawn("x", {10, 33}) + Drawn("w", {12, 33}) + Drawn("dy", {10, 12}),
       {"matmul_grad of X"},
       {"matmul_grad of Y"}},
      {"conv2d",
       codes + "conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dyd) -> (Input@GRAD=dx, "
               "Filter@GRAD=dw) {paddings=[1, 1]}",
       images + Drawn("dy", {2, 16, 9, 7}),
       {"conv2d_grad of images", "conv2d_grad of filters"},
       {}},
      {"conv2d with strides",
       codes + "conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dyd) -> (Input@GRAD=dx, "
               "Filter@GRAD=dw) {paddings=[1, 1], strides=[2, 2]}",
       images + Drawn("dy", {2, 16, 5, 4}),
       {"conv2d_grad of images", "conv2d_grad of filters"},
       {}},
      {"weights with a scale for each filter",
       absl::StrCat(kCodesOfX,
                    "fake_channel_wise_quantize_dequantize_abs_max(X=w) -> (Out=wd, OutScale=ws) "
                    "{bit_length=8, quant_axis=0}\n",
                    kCodesOfGradient,
                    "conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dyd) -> (Input@GRAD=dx, "
                    "Filter@GRAD=dw) {paddings=[1, 1]}"),
       images + Drawn("dy", {2, 16, 9, 7}),
       {"conv2d_grad of filters"},
       {"conv2d_grad of images"}},
      {"conv2d of unsigned codes, dilated",
       of_positive + "conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dyd) -> (Input@GRAD=dx, "
                     "Filter@GRAD=dw) {paddings=[2, 1], dilations=[2, 2], strides=[1, 3]}",
       Drawn("x", {3, 5, 11, 13}) + Drawn("w", {33, 5, 3, 2}) + Drawn("dy", {3, 33, 11, 5}),
       {"conv2d_grad of images", "conv2d_grad of filters"},
       {}},
      {"conv2d whose sums over all images leave 32 bits",
       of_positive + "conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dyd) -> (Input@GRAD=dx, "
                     "Filter@GRAD=dw)",
       Ones("x", "50,2,40,40", 160000) + Drawn("w", {1, 2, 1, 1}) + Ones("dy", "50,1,40,40", 80000),
       {"conv2d_grad of images", "conv2d_grad of filters"},
       {}},
      {"conv2d in groups",
       codes + "conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dyd) -> (Input@GRAD=dx, "
               "Filter@GRAD=dw) {paddings=[1, 1], groups=2}",
       Drawn("x", {2, 8, 9, 7}) + Drawn("w", {16, 4, 3, 3}) + Drawn("dy", {2, 16, 9, 7}),
       {"conv2d_grad of images"},
       {"conv2d_grad of filters"}},
  };
}

TEST(GradientCodes, AreMultipliedOnIntegersWhereTheirScalesLeaveTheSums) {
  for (const Case& each : Cases()) {
    SCOPED_TRACE(each.name);
    const std::string text = InProgram(each.ops);
    EXPECT_EQ(OpDifferences(text, each.values, 2e-6, {"dx", "dw"}), "");
    const Program program = ParsedProgram(text);
    absl::StatusOr<Scope> scope = ParseParameters(each.values, "values");
    ASSERT_TRUE(scope.ok()) << scope.status();
    const auto executor = Executor::Create(program, &*scope, {});
    ASSERT_TRUE(executor.ok()) << executor.status();
    ASSERT_TRUE((*executor)->Run({}, {"dx", "dw"}, 0).ok());
    const std::string plan = (*executor)->PlanText();
    for (const std::string& step : each.on_integers) {
      if (absl::EndsWith(step, "of filters") && !kernels::HasAvx512Vnni()) continue;
      EXPECT_THAT(plan, HasSubstr(step + " on integers"));
    }
    for (const std::string& step : each.in_float) {
      EXPECT_THAT(plan, HasSubstr(step));
      EXPECT_THAT(plan, Not(HasSubstr(step + " on integers")));
    }
  }
}

}  // namespace
}  // namespace fixpoint::executor
