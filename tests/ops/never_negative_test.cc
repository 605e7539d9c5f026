#include "ops/never_negative.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

// Whether it holds for what an op writes to a variable.
bool HoldsOf(const std::string& variable, const std::string& ops) {
  const Program program = ProgramFromText(ops);
  for (const Op& op : program.block(0).ops()) {
    for (const Argument* output : op.outputs()) {
      if (output->name() == variable) return NeverNegative(EraOf(program)).Holds(*output->value());
    }
  }
  ADD_FAILURE() << "nothing writes " << variable;
  return false;
}

TEST(NeverNegative, HoldsOfReluAndWhatKeepsItsValues) {
  const std::string ops = R"(
      var x f32[2,3,4,4]
      var z f32[2,3,4,4]
      relu(X=x) -> (Out=a)
      reshape2(X=a) -> (Out=b) {shape=[0, -1]}
      pool2d(X=a) -> (Out=c) {pooling_type="max", ksize=[2, 2]}
      tanh(X=a) -> (Out=d))";
  EXPECT_TRUE(HoldsOf("a", ops));
  EXPECT_TRUE(HoldsOf("b", ops));
  EXPECT_TRUE(HoldsOf("c", ops));
  EXPECT_FALSE(HoldsOf("d", ops));
}

TEST(NeverNegative, HoldsOfSumsAndAveragesWhereItHoldsOfAll) {
  const std::string ops = R"(
      var x f32[2,3,4,4]
      var z f32[2,3,4,4]
      relu(X=x) -> (Out=a)
      sigmoid(X=z) -> (Out=b)
      elementwise_add(X=a, Y=b) -> (Out=both)
      elementwise_add(X=a, Y=z) -> (Out=one)
      concat(X=[a, b, both]) -> (Out=joined)
      concat(X=[a, b, one]) -> (Out=mixed)
      pool2d(X=joined) -> (Out=mean) {pooling_type="avg", ksize=[2, 2]})";
  EXPECT_TRUE(HoldsOf("both", ops));
  EXPECT_FALSE(HoldsOf("one", ops));
  EXPECT_TRUE(HoldsOf("joined", ops));
  EXPECT_FALSE(HoldsOf("mixed", ops));
  EXPECT_TRUE(HoldsOf("mean", ops));
}

TEST(NeverNegative, EndsWithTheEpilogueOfASumOfCodes) {
  const std::string ops = R"(
      var x f32[2,3,4,4]
      var z f32[2,3,4,4]
      integer_mul(X=x, Y=w, Scales=s) -> (Out=a) {epilogue=["relu"], epilogue_a=[0.0], epilogue_b=[0.0]}
      integer_mul(X=x, Y=w, Scales=s) -> (Out=b) {epilogue=["relu", "add_channel"], epilogue_a=[0.0, 0.0], epilogue_b=[0.0, 0.0]}
      integer_mul(X=x, Y=w, Scales=s) -> (Out=c) {epilogue=["relu", "multiply"], epilogue_a=[0.0, 12.5], epilogue_b=[0.0, 0.0]})";
  EXPECT_TRUE(HoldsOf("a", ops));
  EXPECT_FALSE(HoldsOf("b", ops));
  EXPECT_TRUE(HoldsOf("c", ops));
}

// Values after quantizers of a test program are as never negative as in the float program.
TEST(NeverNegative, HoldsOfCodesOfWhatIsNot) {
  const std::string ops = R"(
      var x f32[2,3,4,4]
      relu(X=x) -> (Out=r)
      quantize_linear(X=r, Scale=s, ZeroPoint=z) -> (Y=q) {bit_length=9}
      dequantize_linear(X=q, Scale=s, ZeroPoint=z) -> (Y=d) {bit_length=9}
      pool2d(X=d) -> (Out=mean) {pooling_type="avg", ksize=[2, 2]}
      fake_quantize_dequantize_abs_max(X=mean) -> (Out=fused, OutScale=t)
      fake_quantize_dequantize_abs_max(X=x) -> (Out=signed, OutScale=u)
      fake_quantize_moving_average_min_max(X=r, InScale=a, InZeroPoint=b) -> (Out=affine, OutScale=a, OutZeroPoint=b))";
  EXPECT_TRUE(HoldsOf("q", ops));
  EXPECT_TRUE(HoldsOf("fused", ops));
  EXPECT_FALSE(HoldsOf("signed", ops));
  EXPECT_FALSE(HoldsOf("affine", ops));
}

TEST(NeverNegative, HoldsOfUnsignedCodesAndTheirAverages) {
  const std::string ops = R"(
      var x f32[2,3,4,4]
      integer_quantize(X=x) -> (Out=u) {multiplier=127.5, smallest_code=0, out_dtype=20, out_largest_code=255}
      integer_quantize(X=x) -> (Out=s) {multiplier=63.5, smallest_code=-128, out_dtype=21, out_largest_code=127}
      integer_dequantize(X=u) -> (Out=x_of_u) {range=2.0, largest_code=255}
      integer_average_pool2d(X=u, Scales=r) -> (Out=mean) {ksize=[2, 2]}
      integer_average_pool2d(X=s, Scales=r) -> (Out=signed_mean) {ksize=[2, 2]}
      integer_elementwise_mul(X=u, Y=u, Scales=r) -> (Out=product)
      integer_elementwise_mul(X=u, Y=s, Scales=r) -> (Out=signed_product)
      integer_elementwise_mul(X=u, Y=u, Scales=r) -> (Out=above) {weight_zero_point=1}
      integer_average_pool2d(X=u, Scales=r, Operands=b) -> (Out=biased) {ksize=[2, 2], epilogue=["add_channel"], epilogue_a=[0.0], epilogue_b=[0.0]})";
  EXPECT_TRUE(HoldsOf("u", ops));
  EXPECT_FALSE(HoldsOf("s", ops));
  EXPECT_TRUE(HoldsOf("x_of_u", ops));
  EXPECT_TRUE(HoldsOf("mean", ops));
  EXPECT_FALSE(HoldsOf("signed_mean", ops));
  EXPECT_TRUE(HoldsOf("product", ops));
  EXPECT_FALSE(HoldsOf("signed_product", ops));
  EXPECT_FALSE(HoldsOf("above", ops));
  EXPECT_FALSE(HoldsOf("biased", ops));
}

// Codes that are never negative can stand for floats that are.
TEST(NeverNegative, DoesNotHoldOfWhatAffineCodesStandFor) {
  const std::string ops = R"(
      var x f32[2,3,4,4]
      relu(X=x) -> (Out=r)
      integer_quantize(X=x) -> (Out=u) {multiplier=127.5, smallest_code=0, out_dtype=20, out_largest_code=255, out_zero_point=64}
      integer_quantize(X=r) -> (Out=s) {multiplier=127.5, smallest_code=-128, out_dtype=21, out_largest_code=127, out_zero_point=-128}
      integer_dequantize(X=u) -> (Out=x_of_u) {range=0.5, largest_code=1, zero_point=64}
      integer_add(X=r, Y=u) -> (Out=sum) {range=0.5, largest_code=1, zero_point=64}
      integer_average_pool2d(X=u, Scales=r) -> (Out=mean) {ksize=[2, 2], input_zero_point=64})";
  EXPECT_TRUE(HoldsOf("u", ops));
  EXPECT_FALSE(HoldsOf("s", ops));
  EXPECT_FALSE(HoldsOf("x_of_u", ops));
  EXPECT_FALSE(HoldsOf("sum", ops));
  EXPECT_FALSE(HoldsOf("mean", ops));
}

TEST(NeverNegative, TakesNoStackForALongChain) {
  std::string ops = "var x f32[2]\nrelu(X=x) -> (Out=a0)\n";
  constexpr int kLength = 20000;
  for (int i = 0; i < kLength; ++i) {
    absl::StrAppend(&ops, "assign(X=a", i, ") -> (Out=a", i + 1, ")\n");
  }
  EXPECT_TRUE(HoldsOf(absl::StrCat("a", kLength), ops));
}

}  // namespace
}  // namespace fixpoint
