// The ops between floats and codes that oneDNN runs in the reference, and those of paddle-mobile
// under the same names, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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

TEST(OneDnn, IsWhatTheInterpreterComputes) {
  for (const char* codes : {"is_negative_input=true", "is_negative_input=false"}) {
    for (const char* shift : {"", ", Shift=3.0", ", Shift=128.0"}) {
      const std::string attributes = absl::StrCat(codes, shift);
      SCOPED_TRACE(attributes);
      EXPECT_EQ(OpDifferences(absl::StrCat(R"(program version=2006002
          block 0 {
            quantize(Input=x) -> (Output=q) {Scale=100.0, )",
                                           attributes, R"(}
            dequantize(Input=q) -> (Output=y) {Scale=100.0, Shift=3.0}
            requantize(Input=q) -> (Output=r) {Scale_in=100.0, Scale_out=30.0, Shift_in=0.0, Shift_out=0.0}
            requantize(Input=q) -> (Output=s) {Scale_in=100.0, Scale_out=30.0, Shift_in=0.0, Shift_out=7.0}
          })"),
                              Drawn("x", {2, 3, 4, 5}), /*tolerance=*/0),
                "");
      EXPECT_EQ(OpDifferences(absl::StrCat("program version=2006002\nblock 0 {\n"
                                           "quantize(Input=x) -> (Output=q) {",
                                           attributes, "}\n}"),
                              "x f32[9] 0.5 1.5 -0.5 -2.5 inf -inf nan 1e20 -1e20\n",
                              /*tolerance=*/0),
                "");
    }
  }
}

constexpr char kProducts[] = R"(program version=1008005
    block 0 {
      quantize(X=x) -> (Out=q, OutScale=s) {bit_length=8}
      conv2d(Input=q, Filter=f) -> (Output=c) {paddings=[1, 1]}
      dequantize(X=c, Scale=s) -> (Out=y) {max_range=3225.8}
      relu(X=y) -> (Out=z)
      quantize(X=z, InScale=r) -> (Out=qz, OutScale=sz) {bit_length=8}
      depthwise_conv2d(Input=qz, Filter=d) -> (Output=e) {groups=4}
      dequantize(X=e, Scale=sz) -> (Out=u) {max_range=3225.8}
      quantize(X=u) -> (Out=qu, OutScale=su) {bit_length=8}
      mul(X=qu, Y=w) -> (Out=p) {x_num_col_dims=1}
      dequantize(X=p, Scale=su) -> (Out=out) {max_range=3225.8}
    })";

std::string Codes(absl::string_view name, absl::string_view dims, int size) {
  std::string text = absl::StrCat(name, " i8[", dims, "]");
  for (int i = 0; i < size; ++i) absl::StrAppend(&text, " ", (i * 37 + 11) % 255 - 127);
  return text + "\n";
}

std::string Inputs() {
  return absl::StrCat(Drawn("x", {2, 3, 6, 6}), Codes("f", "4,3,3,3", 108),
                      Codes("d", "4,1,3,3", 36), Codes("w", "64,5", 320), "r f32[1] 100\n");
}

TEST(PaddleMobile, IsWhatTheInterpreterComputes) {
  EXPECT_EQ(OpDifferences(kProducts, Inputs(), /*tolerance=*/0), "");
  EXPECT_EQ(OpDifferences(kProducts, Inputs(), /*tolerance=*/0, {"out"}), "");
}

TEST(PaddleMobile, MultipliesIntegers) {
  const std::string plan = PlanOf(kProducts, Inputs(), "out");
  EXPECT_THAT(plan, testing::HasSubstr(" conv2d on integers"));
  EXPECT_THAT(plan, testing::HasSubstr("depthwise_conv2d on integers"));
  EXPECT_THAT(plan, testing::HasSubstr("mul on integers"));
}

// 4096 products of 127 * 127 are 66 million: floats that are added one by one would be rounded.
TEST(PaddleMobile, AddsExactly) {
  std::string inputs = "s f32[1] 1\nx f32[1,4096]";
  for (int i = 0; i < 4096; ++i) absl::StrAppend(&inputs, i % 7 == 0 ? " 0.9" : " 1");
  absl::StrAppend(&inputs, "\nw i8[4096,1]");
  for (int i = 0; i < 4096; ++i) absl::StrAppend(&inputs, i % 5 == 0 ? " 126" : " 127");
  EXPECT_EQ(OpDifferences(R"(program version=1008005
      block 0 {
        quantize(X=x, InScale=s) -> (Out=q, OutScale=os) {bit_length=8}
        mul(X=q, Y=w) -> (Out=p)
      })",
                          inputs + "\n", /*tolerance=*/0),
            "");
}

// A quantize op, convolutions of its codes, and one that gives floats.
std::string Convolutions(absl::string_view is_signed, absl::string_view second) {
  return absl::StrCat(R"(program version=1008005
    block 0 {
      quantize(Input=x) -> (Output=q) {Scale=120.0, is_negative_input=)",
                      is_signed, R"(}
      conv2d(Input=q, Filter=f, Bias=b) -> (Output=c) {paddings=[1, 1], Scale_in=120.0, Scale_weights=[
        100.0, 110.0, 0.0, 127.0], Scale_out=30.0}
      conv2d(Input=q, Filter=f, Bias=b) -> (Output=u) {paddings=[1, 1], Scale_in=120.0, Scale_weights=[
        100.0], Scale_out=30.0, fuse_activation="relu"}
      )",
                      second, R"(
      depthwise_conv2d(Input=e, Filter=d) -> (Output=o) {groups=4, Scale_in=20.0, Scale_weights=[
        90.0], force_fp32_output=true}
    })");
}

std::string ConvolutionInputs() {
  return absl::StrCat(Drawn("x", {2, 3, 6, 6}), Drawn("f", {4, 3, 3, 3}), Drawn("b", {4}),
                      Codes("d", "4,1,3,3", 36));
}

TEST(OneDnn, ConvolvesOnIntegers) {
  const std::string common = "paddings=[1, 1], Scale_in=120.0, Scale_weights=[100.0], ";
  for (const std::string& second :
       {absl::StrCat("conv2d(Input=q, Filter=f) -> (Output=e) {", common, "Scale_out=20.0}"),
        absl::StrCat("conv2d(Input=q, Filter=f, Bias=b, ResidualData=c) -> (Output=e) {", common,
                     "Scale_out=20.0, Scale_in_eltwise=30.0, fuse_residual_connection=true}"),
        absl::StrCat("conv2d(Input=q, Filter=f, ResidualData=u) -> (Output=e) {", common,
                     "Scale_out=20.0, Scale_in_eltwise=30.0, fuse_residual_connection=true, "
                     "fuse_activation=\"relu6\", fuse_alpha=4.0}"),
        absl::StrCat("conv2d(Input=q, Filter=f) -> (Output=e) {", common,
                     "Scale_out=20.0, fuse_activation=\"leaky_relu\", fuse_alpha=0.1}")}) {
    for (const char* is_signed : {"true", "false"}) {
      const std::string program = Convolutions(is_signed, second);
      SCOPED_TRACE(program);
      EXPECT_EQ(OpDifferences(program, ConvolutionInputs(), /*tolerance=*/0), "");
      EXPECT_EQ(OpDifferences(program, ConvolutionInputs(), /*tolerance=*/0, {"o"}), "");
      EXPECT_THAT(PlanOf(program, ConvolutionInputs(), "o"),
                  testing::HasSubstr("depthwise_conv2d of codes"));
    }
  }
}

// A residual of floats is added to floats.
TEST(OneDnn, AddsFloatsToSumsOfCodes) {
  EXPECT_EQ(OpDifferences(R"(program version=1008005
      block 0 {
        conv2d(Input=q, Filter=f, Bias=b, ResidualData=r) -> (Output=c) {Scale_in=100.0, Scale_weights=[
          100.0], force_fp32_output=true, fuse_residual_connection=true}
      })",
                          absl::StrCat(Codes("q", "1,3,4,4", 48), Drawn("f", {4, 3, 3, 3}),
                                       Drawn("b", {4}), Drawn("r", {1, 4, 2, 2})),
                          /*tolerance=*/0),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
