// Weights with a step and a zero point for each row, on the executor and on the reference
// interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// As text.
std::string PlanOf(const std::string& text, const std::string& inputs, const std::string& fetch) {
  const Program program = ParsedProgram(text);
  Scope scope = *ParseParameters(inputs, "inputs");
  const auto executor = Executor::Create(program, &scope);
  if (!executor.ok()) return executor.status().ToString();
  const auto plan = (*executor)->PlanOf({}, {fetch});
  return plan.ok() ? PlanText(**plan) : plan.status().ToString();
}

TEST(RowCodes, AreTheSameToTheBit) {
  for (const char* attributes : {"quant_axis=0", "quant_axis=1, round_type=0",
                                 "quant_axis=2, bit_length=4", "quant_axis=1, bit_length=12"}) {
    EXPECT_EQ(OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        fake_row_wise_quantize_min_max(X=x) -> (Out=q, OutScale=s, OutZeroPoint=z) {)",
                                         attributes, R"(}
        fake_row_wise_dequantize(X=q, Scale=s, ZeroPoint=z) -> (Out=d) {)",
                                         std::string(attributes).substr(0, 12), "}\n      }"),
                            Drawn("x", {3, 5, 4}), 0),
              "")
        << attributes;
  }
}

// The ops read codes of 8 bits: only rows that are looked up are dequantized.
TEST(RowCodes, AreLookedUp) {
  constexpr char kProgram[] = R"(program version=2006002
      block 0 {
        fake_row_wise_quantize_min_max(X=w) -> (Out=q, OutScale=s, OutZeroPoint=z) {quant_axis=0}
        fake_row_wise_dequantize(X=q, Scale=s, ZeroPoint=z) -> (Out=d) {quant_axis=0}
        lookup_table_v2(W=d, Ids=ids) -> (Out=y) {padding_idx=2L}
        fake_row_wise_dequantize(X=codes, Scale=s, ZeroPoint=z) -> (Out=u) {quant_axis=0}
        lookup_table_v2(W=u, Ids=ids) -> (Out=v)
      })";
  const std::string inputs = Drawn("w", {4, 5}) + "ids i64[3] 3 2 0\n" +
                             "codes i8[4,5] 1 2 3 4 5 6 7 8 9 10 -1 -2 -3 -4 -5 -6 -7 -8 -9 -10\n";
  EXPECT_EQ(OpDifferences(kProgram, inputs, 0, {"y", "v"}), "");
  EXPECT_THAT(PlanOf(kProgram, inputs, "y"),
              testing::AllOf(testing::HasSubstr("lookup_table_v2 of codes"),
                             testing::Not(testing::HasSubstr("dequantize"))));
}

// Floats that the interpreter rounds are compared with integers.
TEST(RowWiseProducts, AreAsIfOnNumbers) {
  const std::string products[] = {
      "mul(X=xd, Y=wd) -> (Out=y)",
      "matmul(X=xd, Y=wd) -> (Out=y)",
      "matmul_v2(X=xd, Y=wd) -> (Out=y)",
      "fc(Input=xd, W=wd) -> (Out=y)",
  };
  for (const std::string& product : products) {
    const std::string program = absl::StrCat(R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_abs_max(X=x) -> (Out=xd, OutScale=xs) {bit_length=8}
        fake_row_wise_quantize_min_max(X=w) -> (Out=q, OutScale=s, OutZeroPoint=z) {quant_axis=1}
        fake_row_wise_dequantize(X=q, Scale=s, ZeroPoint=z) -> (Out=wd) {quant_axis=1}
        )",
                                             product, R"(
        elementwise_add(X=y, Y=b) -> (Out=sum) {axis=-1}
        relu(X=sum) -> (Out=r)
        mul_grad(X=xd, Y=wd, Out@GRAD=dy) -> (X@GRAD=dx, Y@GRAD=dw)
      })");
    const std::string inputs =
        Drawn("x", {3, 20}) + Drawn("w", {20, 6}) + Drawn("b", {6}) + Drawn("dy", {3, 6});
    EXPECT_EQ(OpDifferences(program, inputs, 1e-6, {"y", "dx", "dw"}), "") << product;
    EXPECT_EQ(OpDifferences(program, inputs, 1e-6, {"r"}), "") << product;
    EXPECT_THAT(PlanOf(program, inputs, "r"),
                testing::HasSubstr("on integers, row-wise + elementwise_add + relu"));
  }
}

TEST(RowWiseProducts, AreOfActivationsWithAZeroPointToo) {
  for (const char* product :
       {"mul(X=xd, Y=wd) -> (Out=y)", "fc(Input=xd, W=wd, Bias=b) -> (Out=y)"}) {
    const std::string program = absl::StrCat(R"(program version=2006002
      block 0 {
        fake_quantize_moving_average_min_max(X=x, InScale=xs, InZeroPoint=xz) -> (
          Out=xq, OutScale=xs2, OutZeroPoint=xz2) {is_test=true, unsigned_codes=true}
        fake_dequantize_affine(X=xq, Scale=xs, ZeroPoint=xz) -> (Out=xd)
        fake_row_wise_quantize_min_max(X=w) -> (Out=q, OutScale=s, OutZeroPoint=z) {quant_axis=1}
        fake_row_wise_dequantize(X=q, Scale=s, ZeroPoint=z) -> (Out=wd) {quant_axis=1}
        )",
                                             product, "\n      }");
    const std::string inputs = Drawn("x", {3, 20}) + Drawn("w", {20, 6}) + Drawn("b", {6}) +
                               "xs f32[1] 0.01\nxz f32[1] 99\n";
    EXPECT_EQ(OpDifferences(program, inputs, 1e-4, {"y"}), "") << product;
    EXPECT_THAT(PlanOf(program, inputs, "y"), testing::HasSubstr("on integers, row-wise"));
  }
}

// The rows of the table are not the columns of the product.
TEST(RowWiseProducts, AreOfNumbersWhereRowsAreNoColumns) {
  constexpr char kProgram[] = R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_abs_max(X=x) -> (Out=xd, OutScale=xs) {bit_length=8}
        fake_row_wise_quantize_min_max(X=w) -> (Out=q, OutScale=s, OutZeroPoint=z) {quant_axis=0}
        fake_row_wise_dequantize(X=q, Scale=s, ZeroPoint=z) -> (Out=wd) {quant_axis=0}
        mul(X=xd, Y=wd) -> (Out=y)
      })";
  const std::string inputs = Drawn("x", {3, 20}) + Drawn("w", {20, 6});
  EXPECT_EQ(OpDifferences(kProgram, inputs, 1e-6, {"y"}), "");
  EXPECT_THAT(PlanOf(kProgram, inputs, "y"), testing::Not(testing::HasSubstr("row-wise")));
}

// In steps of the sums: rounding moves a float bias by at most half a step.
TEST(RowWiseFc, AddsItsBiasInInt32) {
  const std::string program = R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_abs_max(X=x) -> (Out=xd, OutScale=xs) {bit_length=8}
        fake_row_wise_dequantize(X=w, Scale=s, ZeroPoint=z) -> (Out=wd) {quant_axis=1}
        fc(Input=xd, W=wd, Bias=b) -> (Out=y) {activation_type="relu"}
      })";
  // The range of x is 127, so that the sums have the steps of w: 1 and 0.5, and 1e-9.
  const std::string inputs =
      "x f32[2,2] 127 3 -50 1\nw i8[2,3] 10 -4 7 100 20 -3\n"
      "z i32[3] 4 -20 0\nb f32[3] 0.7 -0.4 9\n";
  // 127 * 6 + 3 * 96 + 1 (0.7), (127 * 16 + 3 * 40 - 1 (-0.8)) / 2, and -50 * 6 + 96 + 1 < 0.
  EXPECT_EQ(OpDifferences(program, inputs + "s f32[3] 1 0.5 1\n", 1e-3, {"y"}), "");
  const Program parsed = ParsedProgram(program);
  Scope scope = *ParseParameters(inputs + "s f32[3] 1 0.5 1\n", "inputs");
  const auto executor = Executor::Create(parsed, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto run = (*executor)->Run({}, {"y"}, 0);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT((*run)[0].data<float>(), testing::ElementsAre(1051, 1075.5, 889, 0, 0, 0));
  // Where steps are too small for it, it is added in float.
  EXPECT_EQ(OpDifferences(program, inputs + "s f32[3] 1 0.5 1e-9\n", 1e-6, {"y"}), "");
}

TEST(IntegerRowWiseFc, IsTheSameToTheBit) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        integer_row_wise_fc(X=x, Y=w, Scales=s, Offsets=z) -> (Out=a) {x_num_col_dims=2}
        integer_row_wise_fc(X=x, Y=w, Scales=s, Offsets=z, Bias=b, Operands=[c]) -> (Out=d) {
          x_num_col_dims=2, epilogue=["add_channel", "multiply"], epilogue_a=[0.0, 0.01],
          epilogue_b=[0.0, 0.0], out_dtype=21, out_range=2.0, out_largest_code=127}
      })",
                          "x u8[2,1,3] 255 0 7 200 100 3\nw i8[3,2] -128 127 5 6 -7 8\n"
                          "s f32[2] 0.3 0.07\nz i32[2] 127 -128\nb i32[2] 1000 -30000\n"
                          "c f32[2] 0.5 -3\n",
                          0),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
