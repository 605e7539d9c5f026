#include "ops/code_ops.h"

#include <gtest/gtest.h>

#include <optional>

#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

TEST(ReadBiasCodeOp, SaysWhatTheStepsOfABiasAreMadeOf) {
  const Program program = ParsedProgram(
      "fake_dequantize_bias(InputScale=s, WeightScale=w, X=b) -> (Out=d) "
      "{input_largest_code=255, weight_largest_code=127}");
  const std::optional<BiasCodeOp> read =
      ReadBiasCodeOp(*program.block(0).first_op(), Era::kPaddle2);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->input->name(), "b");
  EXPECT_EQ(read->output->name(), "d");
  EXPECT_EQ(read->input_range->name(), "s");
  EXPECT_EQ(read->weight_ranges->name(), "w");
  EXPECT_EQ(read->Step(255, 254), 2);
  EXPECT_EQ(read->Step(255, 0), 1.0f / 127);
}

TEST(ReadBiasCodeOp, ReadsNoOpThatLacksSomethingAndNoOther) {
  const Program program = ParsedProgram(R"(
    fake_dequantize_bias(InputScale=s, X=b) -> (Out=d) {input_largest_code=255, weight_largest_code=127}
    fake_dequantize_bias(InputScale=s, WeightScale=w, X=b) -> (Out=d) {input_largest_code=255}
    fake_dequantize_max_abs(Scale=s, X=b) -> (Out=d) {max_range=127.0}
  )");
  for (const Op& op : program.ops()) {
    EXPECT_FALSE(ReadBiasCodeOp(op, Era::kPaddle2).has_value()) << Describe(op);
  }
}

// The forms of 1.x and of 2.x, which say in three ways which codes there are.
TEST(ReadCodeOp, ReadsTheReferencesDequantizeOps) {
  const Program program = ParsedProgram(R"(
    fake_dequantize_max_abs(Scale=s, X=q) -> (Out=d) {max_range=7.0}
    fake_channel_wise_dequantize_max_abs(Scales=s, X=q) -> (Out=d) {quant_bits=[4], quant_axis=1}
    fake_dequantize_max_abs(Scale=s, X=q) -> (Out=d) {max_range=7.5}
  )");
  const Op* op = program.block(0).first_op();
  std::optional<CodeOp> read = ReadCodeOp(*op, Era::kPaddle2);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->kind, QuantOp::kDequantize);
  EXPECT_EQ(read->scale->name(), "s");
  EXPECT_EQ(read->codes.bits, 4);
  EXPECT_FALSE(read->axis.has_value());
  op = op->next();
  read = ReadCodeOp(*op, Era::kPaddle2);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->codes.largest, 7);
  EXPECT_EQ(read->axis, 1);
  EXPECT_FALSE(ReadCodeOp(*op->next(), Era::kPaddle2).has_value());
}

// Ops of 1.x have no attribute for it.
TEST(ReadCodeOp, TheAxisOfChannelsIsTheDefaultOfTheOtherEraToo) {
  const Program program = ParsedProgram(R"(
    fake_channel_wise_quantize_abs_max(X=w) -> (Out=q, OutScale=s)
    fake_quantize_abs_max(X=w) -> (Out=r, OutScale=t) {quant_axis=1}
  )");
  const Op& op = *program.block(0).first_op();
  EXPECT_EQ(ReadCodeOp(op, Era::kFluid)->axis, 0);
  EXPECT_EQ(ReadCodeOp(op, Era::kPaddle2)->axis, 0);
  // The op has one scale, whatever an attribute says that it does not have.
  EXPECT_EQ(ReadCodeOp(*op.next(), Era::kPaddle2)->axis, std::nullopt);
}

TEST(ReadCodeOp, TheReferencesOpsMultiplyByTheStepInFluidAlone) {
  const Program program = ParsedProgram(R"(
    fake_quantize_dequantize_abs_max(X=w) -> (Out=q, OutScale=s)
    fake_quantize_dequantize_at_range(X=w, InScale=s) -> (Out=r)
  )");
  const Op& op = *program.block(0).first_op();
  EXPECT_TRUE(ReadCodeOp(op, Era::kFluid)->multiplies_by_step);
  EXPECT_FALSE(ReadCodeOp(op, Era::kPaddle2)->multiplies_by_step);
  EXPECT_FALSE(ReadCodeOp(*op.next(), Era::kFluid)->multiplies_by_step);
}

TEST(ReadCodeOp, WithAZeroPointTheScaleIsAStep) {
  const Program program = ParsedProgram(
      "fake_quantize_dequantize_affine(X=x, InScale=s, InZeroPoint=z) -> (Out=y) {bit_length=4, "
      "unsigned_codes=true, round_type=0}");
  const std::optional<CodeOp> read = ReadCodeOp(*program.block(0).first_op(), Era::kPaddle2);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->scale->name(), "s");
  EXPECT_EQ(read->zero_point->name(), "z");
  EXPECT_EQ(read->codes_of_scale(), 1);
  EXPECT_EQ(read->codes, AffineCodes(4, /*is_unsigned=*/true, QuantSpec::HALF_TO_EVEN));
}

// The executor computes codes of one bit.
TEST(ReadCodeOp, ReadsAsFewBitsAsItIsAskedFor) {
  const Program program =
      ParsedProgram("fake_quantize_abs_max(X=w) -> (Out=q, OutScale=s) {bit_length=1}");
  const Op& op = *program.block(0).first_op();
  EXPECT_FALSE(ReadCodeOp(op, Era::kPaddle2).has_value());
  EXPECT_EQ(ReadCodeOp(op, Era::kPaddle2, /*least_bits=*/1)->codes.bits, 1);
}

}  // namespace
}  // namespace fixpoint
