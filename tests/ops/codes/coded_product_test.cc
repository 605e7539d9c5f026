// Which products of codes are computed on integers, by their forms and their operands' codes.

#include "ops/codes/coded_product.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_schema.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

// "axis 0, 27 products, plain", or a reason.
std::string SumsText(const std::string& op_text, const Dims& activation, const Dims& weight) {
  const Program program = ProgramFromText(op_text);
  const Op& op = *program.block(0).first_op();
  const OpAttributes attributes(op, *FindOpSchema(op.type()), EraOf(program));
  const SumsOrReason sums = SumsOfProduct(op, attributes, activation, weight);
  if (const auto* const reason = std::get_if<IntegerReason>(&sums)) {
    return std::string(IntegerReasonCode(*reason));
  }
  const auto& found = std::get<ProductSums>(sums);
  return absl::StrCat(
      "axis ", found.channel_axis, ", ", found.products, " products",
      found.channel_groups > 1 ? absl::StrCat(", ", found.channel_groups, " groups") : "",
      found.is_plain ? ", plain" : "");
}

constexpr char kConv[] = "conv2d(Input=x, Filter=w) -> (Output=y)";
constexpr char kMul[] = "mul(X=x, Y=w) -> (Out=y)";
constexpr char kMatmul[] = "matmul_v2(X=x, Y=w) -> (Out=y)";

TEST(SumsOfProduct, OfAConvolutionAreOfTaps) {
  EXPECT_EQ(SumsText(kConv, {-1, 3, 8, 8}, {8, 3, 3, 3}), "axis 0, 27 products");
  EXPECT_EQ(SumsText(kConv, {}, {}), "axis 0, 0 products");
  EXPECT_EQ(SumsText("conv2d(Input=x, Filter=w) -> (Output=y) {groups=0}", {}, {}), "attributes");
}

TEST(SumsOfProduct, OfATransposedConvolutionServeEachGroup) {
  EXPECT_EQ(SumsText("conv2d_transpose(Input=x, Filter=w) -> (Output=y) {groups=2}", {-1, 4, 8, 8},
                     {4, 3, 2, 2}),
            "axis 1, 8 products, 2 groups");
}

TEST(SumsOfProduct, OfFlattenedMatricesHaveTheirColumnsOnTheLastAxis) {
  EXPECT_EQ(SumsText(kMul, {-1, 6}, {6, 8}), "axis 1, 6 products, plain");
  const std::string three = "mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1, y_num_col_dims=2}";
  EXPECT_EQ(SumsText(three, {-1, 6}, {2, 3, 8}), "axis 2, 6 products");
  EXPECT_EQ(SumsText(kMul, {-1, 6}, {6, 2, 4}), "attributes");
  EXPECT_EQ(SumsText(kMul, {}, {6, 8}), "unknown_shape");
}

// The matrices of a transposed X cannot be one with all their rows.
TEST(SumsOfProduct, OfABatchOfOneAreThoseOfAnyBatch) {
  const std::string program =
      "var x f32[-1,8,6]\nvar w f32[8,5]\nvar y f32[-1,6,5]\n"
      "matmul_v2(X=x, Y=w) -> (Out=y) {trans_x=true}";
  EXPECT_EQ(SumsText(program, {1, 8, 6}, {8, 5}), "attributes");
  EXPECT_EQ(SumsText(program, {2, 8, 6}, {8, 5}), "attributes");
}

TEST(SumsOfProduct, OfMatricesMayBeTransposed) {
  EXPECT_EQ(SumsText(kMatmul, {-1, 6}, {6, 8}), "axis 1, 6 products, plain");
  EXPECT_EQ(SumsText("matmul_v2(X=x, Y=w) -> (Out=y) {trans_y=true}", {-1, 6}, {8, 6}),
            "axis 0, 6 products");
  EXPECT_EQ(SumsText("matmul(X=x, Y=w) -> (Out=y) {alpha=0.5}", {-1, 6}, {6, 8}),
            "axis 1, 6 products");
}

TEST(SumsOfProduct, OfMatricesThatAreRepeatedAreNotThoseOfIntegers) {
  EXPECT_EQ(SumsText(kMatmul, {2, 4, 6}, {2, 6, 8}), "axis 2, 6 products");
  EXPECT_EQ(SumsText(kMatmul, {2, 4, 6}, {1, 6, 8}), "axis 2, 6 products");
  EXPECT_EQ(SumsText(kMatmul, {4, 6}, {2, 6, 8}), "attributes");
  EXPECT_EQ(SumsText("matmul_v2(X=x, Y=w) -> (Out=y) {trans_x=true}", {2, 6, 4}, {6, 8}),
            "attributes");
  EXPECT_EQ(SumsText(kMatmul, {4, 6}, {6}), "attributes");
}

// A product of 100 on axis 1, of two plain matrices.
CodedProduct Plain() {
  CodedProduct product;
  product.sums.channel_axis = 1;
  product.sums.products = 100;
  product.sums.is_plain = true;
  return product;
}

std::string WhyNot(const CodedProduct& product) {
  const std::optional<IntegerReason> reason = product.WhyNotOnIntegers();
  return reason ? std::string(IntegerReasonCode(*reason)) : "on integers";
}

TEST(CodedProduct, IsOnIntegersByTheScalesOfItsOutputsChannels) {
  CodedProduct product = Plain();
  EXPECT_EQ(WhyNot(product), "on integers");
  product.weight.channel_axis = 1;
  EXPECT_EQ(WhyNot(product), "on integers");
  product.weight.channel_axis = 0;
  EXPECT_EQ(WhyNot(product), "granularity");
  product = Plain();
  product.activation.channel_axis = 0;
  EXPECT_EQ(WhyNot(product), "granularity");
}

TEST(CodedProduct, TakesUnsignedWeightsWithAZeroPointAlone) {
  CodedProduct product = Plain();
  product.weight.is_unsigned = true;
  EXPECT_EQ(WhyNot(product), "unsigned_operand");
  product.weight.has_zero_point = true;
  EXPECT_EQ(WhyNot(product), "on integers");
}

TEST(CodedProduct, TakesZeroPointsOfColumnsWhereItIsPlain) {
  CodedProduct product = Plain();
  product.weight.channel_axis = 1;
  product.weight.has_channel_zero_points = true;
  EXPECT_EQ(WhyNot(product), "on integers");
  product.sums.is_plain = false;
  EXPECT_EQ(WhyNot(product), "zero_point");
}

TEST(CodedProduct, IsNotOnIntegersWhereASumMayNotFit) {
  CodedProduct product = Plain();
  product.sums.products = INT32_MAX / (128 * 128);
  EXPECT_EQ(WhyNot(product), "on integers");
  ++product.sums.products;
  EXPECT_EQ(WhyNot(product), "sums_too_large");
  product.sums.products = 0;  // not known
  EXPECT_EQ(WhyNot(product), "on integers");
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
