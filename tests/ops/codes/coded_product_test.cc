// Which products of codes are computed on integers, by their forms and their operands' codes.

#include "ops/codes/coded_product.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/program.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

// Decides the first product of a program, or of an op alone, for operands with such codes and dims.
ProductOrReason Decide(const std::string& text, const CodedOperand& activation,
                       const CodedOperand& weight) {
  const Program program = ProgramFromText(text);
  const Op& op = *program.block(0).first_op();
  return DecideProduct(op, OpAttributes(op, *FindOpSchema(op.type()), EraOf(program)),
                       [&](const Argument& operand) -> OperandOrReason {
                         const bool is_weight = operand.slot_name() == TraitsOf(op).product->weight;
                         return is_weight ? weight : activation;
                       });
}

// "axis 0, 27 products, plain", or a reason.
std::string SumsText(const std::string& op, const Dims& activation, const Dims& weight) {
  const ProductOrReason decision = Decide(op, {{}, activation}, {{}, weight});
  if (const auto* const reason = std::get_if<IntegerReason>(&decision)) {
    return std::string(IntegerReasonCode(*reason));
  }
  const ProductSums& found = std::get<CodedProduct>(decision).sums;
  return absl::StrCat(
      "axis ", found.channel_axis, ", ", found.products, " products",
      found.channel_groups > 1 ? absl::StrCat(", ", found.channel_groups, " groups") : "",
      found.is_plain ? ", plain" : "");
}

constexpr char kConv[] = "conv2d(Input=x, Filter=w) -> (Output=y)";
constexpr char kMul[] = "mul(X=x, Y=w) -> (Out=y)";
constexpr char kMatmul[] = "matmul_v2(X=x, Y=w) -> (Out=y)";

TEST(ProductSums, OfAConvolutionAreOfTaps) {
  EXPECT_EQ(SumsText(kConv, {-1, 3, 8, 8}, {8, 3, 3, 3}), "axis 0, 27 products");
  EXPECT_EQ(SumsText(kConv, {}, {}), "axis 0, 0 products");
  EXPECT_EQ(SumsText("conv2d(Input=x, Filter=w) -> (Output=y) {groups=0}", {}, {}), "attributes");
}

TEST(ProductSums, OfATransposedConvolutionServeEachGroup) {
  EXPECT_EQ(SumsText("conv2d_transpose(Input=x, Filter=w) -> (Output=y) {groups=2}", {-1, 4, 8, 8},
                     {4, 3, 2, 2}),
            "axis 1, 8 products, 2 groups");
}

TEST(ProductSums, OfFlattenedMatricesHaveTheirColumnsOnTheLastAxis) {
  EXPECT_EQ(SumsText(kMul, {-1, 6}, {6, 8}), "axis 1, 6 products, plain");
  const std::string three = "mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1, y_num_col_dims=2}";
  EXPECT_EQ(SumsText(three, {-1, 6}, {2, 3, 8}), "axis 2, 6 products");
  EXPECT_EQ(SumsText(kMul, {-1, 6}, {6, 2, 4}), "attributes");
  EXPECT_EQ(SumsText(kMul, {}, {6, 8}), "unknown_shape");
}

// The matrices of a transposed X cannot be one with all their rows.
TEST(ProductSums, OfABatchOfOneAreThoseOfAnyBatch) {
  const std::string program =
      "var x f32[-1,8,6]\nvar w f32[8,5]\nvar y f32[-1,6,5]\n"
      "matmul_v2(X=x, Y=w) -> (Out=y) {trans_x=true}";
  EXPECT_EQ(SumsText(program, {1, 8, 6}, {8, 5}), "attributes");
  EXPECT_EQ(SumsText(program, {2, 8, 6}, {8, 5}), "attributes");
}

TEST(ProductSums, OfMatricesMayBeTransposed) {
  EXPECT_EQ(SumsText(kMatmul, {-1, 6}, {6, 8}), "axis 1, 6 products, plain");
  EXPECT_EQ(SumsText("matmul_v2(X=x, Y=w) -> (Out=y) {trans_y=true}", {-1, 6}, {8, 6}),
            "axis 0, 6 products");
  EXPECT_EQ(SumsText("matmul(X=x, Y=w) -> (Out=y) {alpha=0.5}", {-1, 6}, {6, 8}),
            "axis 1, 6 products");
}

TEST(ProductSums, OfMatricesThatAreRepeatedAreNotThoseOfIntegers) {
  EXPECT_EQ(SumsText(kMatmul, {2, 4, 6}, {2, 6, 8}), "axis 2, 6 products");
  EXPECT_EQ(SumsText(kMatmul, {2, 4, 6}, {1, 6, 8}), "axis 2, 6 products");
  EXPECT_EQ(SumsText(kMatmul, {4, 6}, {2, 6, 8}), "attributes");
  EXPECT_EQ(SumsText("matmul_v2(X=x, Y=w) -> (Out=y) {trans_x=true}", {2, 6, 4}, {6, 8}),
            "attributes");
  EXPECT_EQ(SumsText(kMatmul, {4, 6}, {6}), "attributes");
}

// Why the product of two matrices with so many terms in a sum is not computed on integers.
std::string WhyNot(const OperandCodes& activation, const OperandCodes& weight, int64_t terms = 100,
                   const std::string& op = kMul) {
  const ProductOrReason decision = Decide(op, {activation, {-1, terms}}, {weight, {terms, 8}});
  const auto* const reason = std::get_if<IntegerReason>(&decision);
  return reason != nullptr ? std::string(IntegerReasonCode(*reason)) : "on integers";
}

OperandCodes OfChannels(int axis) {
  OperandCodes codes;
  codes.channel_axis = axis;
  return codes;
}

TEST(DecideProduct, IsOnIntegersByTheScalesOfItsOutputsChannels) {
  EXPECT_EQ(WhyNot({}, {}), "on integers");
  EXPECT_EQ(WhyNot({}, OfChannels(1)), "on integers");
  EXPECT_EQ(WhyNot({}, OfChannels(0)), "granularity");
  EXPECT_EQ(WhyNot(OfChannels(0), {}), "granularity");
}

TEST(DecideProduct, TakesUnsignedWeightsWithAZeroPointAlone) {
  OperandCodes weight;
  weight.is_unsigned = true;
  EXPECT_EQ(WhyNot({}, weight), "unsigned_operand");
  weight.has_zero_point = true;
  EXPECT_EQ(WhyNot({}, weight), "on integers");
}

TEST(DecideProduct, TakesZeroPointsOfColumnsWhereItIsPlain) {
  OperandCodes weight = OfChannels(1);
  weight.has_channel_zero_points = true;
  EXPECT_EQ(WhyNot({}, weight), "on integers");
  EXPECT_EQ(WhyNot({}, weight, 100, "matmul(X=x, Y=w) -> (Out=y) {alpha=0.5}"), "zero_point");
}

TEST(DecideProduct, IsNotOnIntegersWhereASumMayNotFit) {
  constexpr int64_t kMost = INT32_MAX / (128 * 128);
  EXPECT_EQ(WhyNot({}, {}, kMost), "on integers");
  EXPECT_EQ(WhyNot({}, {}, kMost + 1), "sums_too_large");
}

TEST(DecideProduct, IsNotOnIntegersWhereTheOpDoesWhatNothingComputes) {
  EXPECT_EQ(WhyNot({}, {}, 100, "matmul(X=x, Y=w) -> (Out=y) {head_number=2}"), "fused_work");
  EXPECT_EQ(WhyNot({}, {}, 100, "fc(Input=x, W=w) -> (Out=y) {padding_weights=true}"),
            "fused_work");
}

// Whether an op after the product may add to its sums.
bool GivesSums(const std::string& op) {
  return std::get<CodedProduct>(Decide(op, {{}, {-1, 6}}, {{}, {6, 8}})).gives_sums;
}

TEST(DecideProduct, GivesItsSumsWhereItDoesNothingElse) {
  EXPECT_TRUE(GivesSums(kMul));
  EXPECT_TRUE(GivesSums("fc(Input=x, W=w) -> (Out=y)"));
  EXPECT_FALSE(GivesSums("fc(Input=x, W=w, Bias=b) -> (Out=y)"));
  EXPECT_FALSE(GivesSums("fc(Input=x, W=w) -> (Out=y) {activation_type=\"relu\"}"));
  EXPECT_TRUE(GivesSums("matmul(X=x, Y=w) -> (Out=y)"));
  EXPECT_FALSE(GivesSums("matmul(X=x, Y=w) -> (Out=y) {alpha=0.5}"));
}

// A product of 100 on axis 1, of two plain matrices.
CodedProduct Plain() {
  CodedProduct product;
  product.sums.channel_axis = 1;
  product.sums.products = 100;
  product.sums.is_plain = true;
  return product;
}

TEST(CodedProduct, AddsABiasInItsStepsToItsSums) {
  CodedProduct product = Plain();
  EXPECT_EQ(product.KindOfBias(BiasForm::kNone), BiasKind::kNone);
  EXPECT_EQ(product.KindOfBias(BiasForm::kFloats), BiasKind::kToFloats);
  EXPECT_EQ(product.KindOfBias(BiasForm::kOtherCodes), BiasKind::kToFloats);
  EXPECT_EQ(product.KindOfBias(BiasForm::kCodesOfSums), BiasKind::kToSums);
}

TEST(CodedProduct, AddsABiasToNumbersWhereBothMayNotFit) {
  CodedProduct product = Plain();
  product.sums.products = kLargestBiasCode / (128 * 128);
  EXPECT_EQ(product.KindOfBias(BiasForm::kCodesOfSums), BiasKind::kToFloats);
  product.sums.products = 0;
  EXPECT_EQ(product.KindOfBias(BiasForm::kCodesOfSums), BiasKind::kToFloats);
}

TEST(CodedProduct, RoundsABiasToSumsOfWeightsWithZeroPoints) {
  CodedProduct product = Plain();
  product.weight.channel_axis = 1;
  product.weight.has_channel_zero_points = true;
  EXPECT_EQ(product.KindOfBias(BiasForm::kFloats), BiasKind::kRoundedToSums);
}

}  // namespace
}  // namespace fixpoint
