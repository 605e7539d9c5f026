// A bias in steps of sums of products of codes: beside the reference interpreter, and in the sums.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ops/bias_codes.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// Both ops, of the same codes, after each other: what the second gives is what the first gave.
TEST(QuantizedBias, IsTheSameToTheBit) {
  for (const char* values : {
           "xs f32[1] 0.8\nws f32[4] 0.5 2 0.01 1\n",
           "xs f32[1] 0.8\nws f32[1] 0.5\n",
           "xs f32[1] 0.8\nws f32[2] 0 3\n",
           "xs f32[1] 0\nws f32[4] 0 1 2 3\n",
           "xs f32[1] 1e-30\nws f32[4] 1 1e-30 nan inf\n",
           "xs f32[1] inf\nws f32[4] 0.5 2 0.01 1\n",
           "xs f32[1] nan\nws f32[4] 0.5 2 0.01 1\n",
       }) {
    EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_bias(X=b, InputScale=xs, WeightScale=ws) -> (Out=y) {
          input_largest_code=255, weight_largest_code=127}
        fake_quantize_dequantize_bias(X=c, InputScale=xs, WeightScale=ws) -> (Out=z) {
          input_largest_code=1, weight_largest_code=7}
        fake_dequantize_bias(X=q, InputScale=xs, WeightScale=ws) -> (Out=u) {
          input_largest_code=127, weight_largest_code=127}
        relu(X=y) -> (Out=r)
      })",
                            absl::StrCat("b f32[4] 0.5 -0.25 1e9 -3\nc f32[4] nan inf -inf 0\n",
                                         "q i32[4] 0 -77777 1073741824 -16777218\n", values),
                            0),
              "")
        << values;
  }
}

// A program text and its values, and the values of what it writes on the executor.
std::vector<Tensor> Fetched(const std::string& text, const std::string& inputs,
                            const std::vector<std::string>& fetches) {
  const Program program = ParsedProgram(text);
  Scope scope = *ParseParameters(inputs, "inputs");
  auto executor = Executor::Create(program, &scope);
  EXPECT_TRUE(executor.ok()) << executor.status();
  auto values = (*executor)->Run({}, fetches, /*step=*/0);
  EXPECT_TRUE(values.ok()) << values.status();
  return *std::move(values);
}

std::string PlanOf(const std::string& text, const std::string& inputs, const std::string& fetch) {
  const Program program = ParsedProgram(text);
  Scope scope = *ParseParameters(inputs, "inputs");
  const auto executor = Executor::Create(program, &scope);
  if (!executor.ok()) return executor.status().ToString();
  const auto plan = (*executor)->PlanOf({}, {fetch});
  return plan.ok() ? PlanText(**plan) : plan.status().ToString();
}

constexpr float kInputRange = 0.8f;
constexpr float kRanges[] = {0.5f, 2, 0.013f, 0.7f, 1, 0.3f};
constexpr float kBias[] = {0.3f, -700, 0.001f, 5, -0.25f, 1e30f};

std::string CodesText(const std::string& name, const std::string& dims, int count) {
  std::string text = absl::StrCat(name, " i8", dims);
  uint32_t state = 99;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    absl::StrAppend(&text, " ", static_cast<int>(static_cast<int8_t>(state >> 24)));
  }
  return text + "\n";
}

// What a product, and the sum after it, compute on integers, as an op of lowered programs says it.
struct ProductCase {
  std::string product;  // of xd and wd
  std::string sum;      // "": the product's own Bias
  std::string integers;
  std::string inputs;  // x and w
  int weight_axis;
  int channels = 6;
};

std::string ProgramOf(const ProductCase& test) {
  return absl::StrCat(R"(program version=2006002
      block 0 {
        dequantize_linear(X=x, Scale=xs, ZeroPoint=zero) -> (Y=xd) {quant_axis=-1, bit_length=8}
        dequantize_linear(X=w, Scale=ws, ZeroPoint=zero) -> (Y=wd) {quant_axis=)",
                      test.weight_axis, R"(, bit_length=8}
        fake_quantize_dequantize_bias(X=b, InputScale=xs, WeightScale=ws) -> (Out=bd) {
          input_largest_code=127, weight_largest_code=127}
        fake_dequantize_bias(X=c, InputScale=xs, WeightScale=ws) -> (Out=cd) {
          input_largest_code=127, weight_largest_code=127}
        )",
                      test.product, "\n", test.sum, "\n", test.integers, R"(
        relu(X=y) -> (Out=r)
        relu(X=z) -> (Out=s)
      })");
}

std::string InputsOf(const ProductCase& test) {
  std::string text = absl::StrCat(test.inputs, "zero f32[1] 0\n");
  absl::StrAppendFormat(&text, "xs f32[1] %.9g\nws f32[6]", kInputRange);
  std::string bias = "\nb f32[6]";
  std::string codes = "\nc i32[6]";
  std::string scales = "\nscales f32[6]";
  for (int c = 0; c < test.channels; ++c) {
    const float step = BiasStep(kInputRange, 127, kRanges[c], 127);
    absl::StrAppendFormat(&text, " %.9g", kRanges[c]);
    absl::StrAppendFormat(&bias, " %.9g", kBias[c]);
    absl::StrAppendFormat(&scales, " %.9g", step);
    absl::StrAppend(&codes, " ", BiasCode(kBias[c], step, /*bits=*/32));
  }
  return absl::StrCat(text, bias, codes, scales, "\n");
}

std::vector<ProductCase> ProductCases() {
  const std::string matrices = CodesText("x", "[5,300]", 1500) + CodesText("w", "[300,6]", 1800);
  const std::string images = CodesText("x", "[2,4,5,5]", 200) + CodesText("w", "[6,4,3,3]", 216);
  const std::string large = CodesText("x", "[2,3000]", 6000) + CodesText("w", "[3000,6]", 18000);
  const std::string sum = "elementwise_add(X=p, Y=bd) -> (Out=y) {axis=-1}";
  const std::string integer_mul = "integer_mul(X=x, Y=w, Scales=scales, Bias=c) -> (Out=z)";
  return {
      {"mul(X=xd, Y=wd) -> (Out=p)", sum, integer_mul, matrices, 1},
      {"mul(X=xd, Y=wd) -> (Out=p)", sum, integer_mul, large, 1},
      {"mul(X=xd, Y=wd) -> (Out=p)", "elementwise_add(X=p, Y=cd) -> (Out=y) {axis=1}", integer_mul,
       matrices, 1},
      {"matmul(X=xd, Y=wd) -> (Out=p)", sum, integer_mul, matrices, 1},
      {"matmul_v2(X=xd, Y=wd) -> (Out=p)", sum,
       "integer_matmul(X=x, Y=w, Scales=scales, Bias=c) -> (Out=z)", matrices, 1},
      {"fc(Input=xd, W=wd, Bias=bd) -> (Out=y)", "", integer_mul, matrices, 1},
      {"fc(Input=xd, W=wd) -> (Out=p)", sum, integer_mul, matrices, 1},
      {"conv2d(Input=xd, Filter=wd) -> (Output=p)",
       "elementwise_add(X=p, Y=bd) -> (Out=y) {axis=1}",
       "integer_conv2d(Input=x, Filter=w, Scales=scales, Bias=c) -> (Output=z)", images, 0},
      {"conv2d(Input=xd, Filter=wd) -> (Output=p) {groups=2}",
       "elementwise_add(X=p, Y=bd) -> (Out=y) {axis=1}",
       "integer_conv2d(Input=x, Filter=w, Scales=scales, Bias=c) -> (Output=z) {groups=2}",
       CodesText("x", "[2,4,5,5]", 200) + CodesText("w", "[6,2,3,3]", 108), 0},
      {"conv2d_transpose(Input=xd, Filter=wd) -> (Output=p)",
       "elementwise_add(X=p, Y=bd) -> (Out=y) {axis=1}",
       "integer_conv2d_transpose(Input=x, Filter=w, Scales=scales, Bias=c) -> (Output=z)",
       CodesText("x", "[2,4,5,5]", 200) + CodesText("w", "[4,6,3,3]", 216), 1},
  };
}

TEST(QuantizedBias, IsAddedToTheSums) {
  for (const ProductCase& test : ProductCases()) {
    const std::string program = ProgramOf(test);
    const std::string inputs = InputsOf(test);
    const std::vector<Tensor> values = Fetched(program, inputs, {"y", "z", "r", "s"});
    ASSERT_EQ(values.size(), 4u);
    EXPECT_EQ(Distance(values[0], values[1]), 0) << test.product;
    EXPECT_EQ(Distance(values[2], values[3]), 0) << test.product;
    EXPECT_EQ(OpDifferences(program, inputs, 0, {"z"}), "") << test.integers;
    EXPECT_EQ(OpDifferences(program, inputs, 1e-5, {"y"}), "") << test.product;
    EXPECT_THAT(PlanOf(program, inputs, "r"), testing::HasSubstr("on integers with bias"))
        << test.product;
  }
}

// The backward pass reads floats, and no product.
TEST(QuantizedBias, IsAddedToTheSumsInTraining) {
  constexpr char kProgram[] = R"(program version=2006002
      block 0 {
        var scale f32[1] persistable
        var state f32[1] persistable
        var accum f32[1] persistable
        fake_quantize_moving_average_abs_max(X=x, InScale=scale, InState=state, InAccum=accum) -> (
          Out=xq, OutScale=scale, OutState=state, OutAccum=accum) {bit_length=8}
        fake_dequantize_max_abs(X=xq, Scale=scale) -> (Out=xd) {max_range=127.0}
        fake_channel_wise_quantize_abs_max(X=w) -> (Out=wq, OutScale=ws) {bit_length=8, quant_axis=0}
        fake_channel_wise_dequantize_max_abs(X=wq, Scales=ws) -> (Out=wd) {quant_bits=[8], quant_axis=0}
        fake_quantize_dequantize_bias(X=b, InputScale=scale, WeightScale=ws) -> (Out=bd) {
          input_largest_code=127, weight_largest_code=127}
        conv2d(Input=xd, Filter=wd) -> (Output=p)
        elementwise_add(X=p, Y=bd) -> (Out=y) {axis=1}
        elementwise_add_grad(X=p, Y=bd, Out@GRAD=dy) -> (X@GRAD=dp, Y@GRAD=db) {axis=1}
        conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dp) -> (Input@GRAD=dx, Filter@GRAD=dw)
        sgd(Param=b, Grad=db, LearningRate=lr) -> (ParamOut=b)
      })";
  const std::string inputs = Drawn("x", {2, 3, 5, 5}) + Drawn("w", {4, 3, 3, 3}) + Drawn("b", {4}) +
                             Drawn("dy", {2, 4, 3, 3}) +
                             "scale f32[1] 0.001\nstate f32[1] 1\naccum f32[1] 1\nlr f32[1] 0.1\n";
  EXPECT_EQ(OpDifferences(kProgram, inputs, 1e-5, {"y", "dx", "dw", "b"}), "");
  EXPECT_THAT(PlanOf(kProgram, inputs, "y"),
              testing::HasSubstr("conv2d on integers with bias + elementwise_add"));
}

// For codes with a zero point, the range is the step of one code. The second fc adds floats.
TEST(QuantizedBias, IsAddedToSumsOfAffineCodes) {
  constexpr char kProgram[] = R"(program version=2006002
      block 0 {
        fake_quantize_moving_average_min_max(X=x, InScale=xs, InZeroPoint=xz) -> (
          Out=xq, OutScale=xs, OutZeroPoint=xz) {bit_length=8, is_test=true, unsigned_codes=true}
        fake_dequantize_affine(X=xq, Scale=xs, ZeroPoint=xz) -> (Out=xd)
        dequantize_linear(X=w, Scale=ws, ZeroPoint=zero) -> (Y=wd) {quant_axis=1, bit_length=8}
        fake_quantize_dequantize_bias(X=b, InputScale=xs, WeightScale=ws) -> (Out=bd) {
          input_largest_code=1, weight_largest_code=127}
        fc(Input=xd, W=wd, Bias=bd) -> (Out=y)
        fc(Input=xd, W=wd, Bias=b) -> (Out=z)
      })";
  const std::string inputs = Drawn("x", {5, 30}) + CodesText("w", "[30,6]", 180) + Drawn("b", {6}) +
                             "xs f32[1] 0.01\nxz f32[1] 77\nzero f32[1] 0\n"
                             "ws f32[6] 1 2 3 4 5 6\n";
  EXPECT_EQ(OpDifferences(kProgram, inputs, 1e-5, {"y", "z"}), "");
  EXPECT_THAT(PlanOf(kProgram, inputs, "y"), testing::HasSubstr("fc on integers with bias"));
}

// The floats of such a channel are 0, whatever its codes are, and its bias has steps all the same
// (BiasStep). Sums of few small codes are exact in floats too.
TEST(QuantizedBias, IsAllThatAChannelWithARangeOfZeroHas) {
  constexpr char kProgram[] = R"(program version=2006002
      block 0 {
        dequantize_linear(X=x, Scale=xs, ZeroPoint=zero) -> (Y=xd) {quant_axis=-1, bit_length=8}
        dequantize_linear(X=w, Scale=ws, ZeroPoint=zero) -> (Y=wd) {quant_axis=1, bit_length=8}
        fake_quantize_dequantize_bias(X=b, InputScale=xs, WeightScale=ws) -> (Out=bd) {
          input_largest_code=127, weight_largest_code=127}
        mul(X=xd, Y=wd) -> (Out=p)
        elementwise_add(X=p, Y=bd) -> (Out=y) {axis=-1}
      })";
  const std::string inputs =
      "x i8[2,3] 1 2 3 -4 5 -6\nw i8[3,3] 9 -8 7 6 5 4 -3 2 1\nb f32[3] 5 0.75 -2\n"
      "zero f32[1] 0\nxs f32[1] 127\nws f32[3] 127 0 254\n";
  EXPECT_EQ(OpDifferences(kProgram, inputs, 0, {"y"}), "");
  EXPECT_THAT(PlanOf(kProgram, inputs, "y"), testing::HasSubstr("mul on integers with bias"));
}

TEST(QuantizedBias, IsAllThatAffineCodesWithAStepOfZeroHave) {
  constexpr char kProgram[] = R"(program version=2006002
      block 0 {
        dequantize_linear(X=x, Scale=xs, ZeroPoint=zero) -> (Y=xd) {quant_axis=-1, bit_length=8}
        fake_dequantize_affine(X=w, Scale=ws, ZeroPoint=wz) -> (Out=wd)
        fake_quantize_dequantize_bias(X=b, InputScale=xs, WeightScale=ws) -> (Out=bd) {
          input_largest_code=127, weight_largest_code=1}
        mul(X=xd, Y=wd) -> (Out=p)
        elementwise_add(X=p, Y=bd) -> (Out=y) {axis=-1}
      })";
  const std::string inputs =
      "x i8[2,2] 1 2 3 -4\nw u8[2,2] 9 8 7 250\nb f32[2] 5 0.75\n"
      "zero f32[1] 0\nxs f32[1] 127\nws f32[1] 0\nwz f32[1] 3\n";
  EXPECT_EQ(OpDifferences(kProgram, inputs, 0, {"y"}), "");
  EXPECT_THAT(PlanOf(kProgram, inputs, "y"), testing::HasSubstr("mul on integers with bias"));
}

// A sum is computed on integers only where the bias has the steps of the product, and nothing else
// reads the product.
TEST(QuantizedBias, IsAddedAsNumbersToOtherSums) {
  constexpr char kOfOtherRanges[] = R"(program version=2006002
      block 0 {
        dequantize_linear(X=x, Scale=xs, ZeroPoint=zero) -> (Y=xd) {quant_axis=-1, bit_length=8}
        dequantize_linear(X=w, Scale=ws, ZeroPoint=zero) -> (Y=wd) {quant_axis=1, bit_length=8}
        fake_quantize_dequantize_bias(X=b, InputScale=us, WeightScale=ws) -> (Out=bd) {
          input_largest_code=127, weight_largest_code=127}
        mul(X=xd, Y=wd) -> (Out=p)
        elementwise_add(X=p, Y=bd) -> (Out=y) {axis=-1}
      })";
  const std::string inputs = CodesText("x", "[5,30]", 150) + CodesText("w", "[30,6]", 180) +
                             "zero f32[1] 0\nxs f32[1] 0.8\nus f32[1] 0.9\n"
                             "ws f32[6] 1 2 3 4 5 6\nb f32[6] 1 -1 2 -2 3 -3\n";
  EXPECT_EQ(OpDifferences(kOfOtherRanges, inputs, 1e-5, {"y"}), "");
  EXPECT_THAT(PlanOf(kOfOtherRanges, inputs, "y"),
              testing::HasSubstr("mul on integers + elementwise_add"));
}

TEST(QuantizedBias, RefusesCodesThatAreNone) {
  constexpr char kDequantize[] = R"(program version=2006002
      block 0 {
        fake_dequantize_bias(X=q, InputScale=s, WeightScale=s) -> (Out=y) {
          input_largest_code=127, weight_largest_code=127}
      })";
  constexpr char kProduct[] = R"(program version=2006002
      block 0 {
        integer_mul(X=x, Y=w, Scales=s, Bias=q) -> (Out=y)
      })";
  const auto differences = [](const char* program, const std::string& bias) {
    return OpDifferences(program, "s f32[1] 1\nx i8[1,1] 1\nw i8[1,1] 1\n" + bias, 0, {"y"});
  };
  const auto both = [](const std::string& error) {
    return absl::StrCat("executor: block 0, op 0 ", error, "\ninterpreter: block 0, op 0 ", error,
                        "\n");
  };
  EXPECT_EQ(differences(kDequantize, "q i32[1] 16777217\n"),
            both("(fake_dequantize_bias): X holds 16777217; want -1073741824 to 1073741824, of the "
                 "integers that FP32 holds"));
  EXPECT_EQ(differences(kProduct, "q i32[1] -1073741952\n"),
            both("(integer_mul): a bias is -1073741952; want -1073741824 to 1073741824, of the "
                 "integers that FP32 holds"));
  EXPECT_THAT(differences(kProduct, "q i32[2] 1 2\n"),
              testing::HasSubstr("Bias is [2]; want 1 elements"));
  EXPECT_THAT(differences(kProduct, "q f32[1] 1\n"), testing::HasSubstr("Bias is f32; want i32"));
}

}  // namespace
}  // namespace fixpoint::executor
