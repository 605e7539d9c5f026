// Which values quantizers that are texts quantize, and with which codes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/quantizer_table.h"
#include "ops/quantizers/text_quantizer.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

// y = relu(x) w, and a step of gradient descent.
constexpr char kAfterRelu[] = R"(
  var x f32[-1,2]
  var r f32[-1,2]
  var w f32[2,2] persistable is_parameter
  var y f32[-1,2]
  var rate f32[1] persistable
  var y@GRAD f32[-1,2]
  var r@GRAD f32[-1,2]
  var w@GRAD f32[2,2]
  relu(X=x) -> (Out=r)
  mul(X=r, Y=w) -> (Out=y)
  fill_constant() -> (Out=y@GRAD) {shape=[1L, 2L], dtype=5, value=1.0, op_role=257}
  mul_grad(X=r, Y=w, Out@GRAD=y@GRAD) -> (X@GRAD=r@GRAD, Y@GRAD=w@GRAD) {op_role=1}
  sgd(Grad=w@GRAD, LearningRate=rate, Param=w) -> (ParamOut=w) {op_role=2}
)";

// A quantizer of activations, q, whose op quantizes what the ops make of x. A trained number comes
// with it.
class TextQuantizers : public testing::Test {
 protected:
  TextQuantizers() {
    options_.quantizers = &quantizers_;
    options_.config.set_target("onednn_int8");
    options_.config.mutable_weights()->set_quantizer("abs_max");
    QuantSpec& spec = *options_.config.mutable_activations();
    spec.set_quantizer("q");
    spec.set_form(QuantSpec::FUSED);
    spec.set_bits(4);
  }

  void Define(const std::string& ops_to_value) {
    const std::string text = absl::StrCat(
        "quantizer q \"Q.\"\nstates:\n  number() -> (Out=range) {trained=true, initial=2.0}\n"
        "  number() -> (Out=offset) {trained=true, initial=1.0}\nforward:\n",
        ops_to_value, "  fake_quantize_dequantize_at_range(X=value, InScale=range) -> (Out=out)\n");
    auto read = ReadQuantizers(text, "q.txt");
    ASSERT_TRUE(read.ok()) << read.status();
    for (auto& quantizer : *read) ASSERT_TRUE(quantizers_.Add(std::move(quantizer)).ok());
  }

  absl::StatusOr<TranspileResult> Transpiled() {
    Program program = ParsedProgram(kAfterRelu);
    return Transpile(&program, options_);
  }

  QuantSpec::Signedness Signedness() {
    const auto result = Transpiled();
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return QuantSpec::UNSIGNED_IF_NEVER_NEGATIVE;
    EXPECT_EQ(result->plan.sites(0).value().variable(), "r");
    return result->plan.sites(0).spec().signedness();
  }

  QuantizerTable quantizers_;
  TranspileOptions options_;
};

constexpr char kShifted[] = "  elementwise_sub(X=x, Y=offset) -> (Out=value)\n";

TEST_F(TextQuantizers, WhatIsComputedFromAValueMayBeNegative) {
  Define(kShifted);
  EXPECT_EQ(Signedness(), QuantSpec::SIGNED);
}

// As levels are multiplied by a trained step.
TEST_F(TextQuantizers, AFormulaThatHidesThatAValueIsNeverNegativeIsNoted) {
  constexpr char kNote[] =
      "activations that are never negative, and that get codes with a sign because what their "
      "quantizer computes from them may be negative, as far as its ops tell: 1, the first is r, of "
      "q; a relu, an abs or a clip above 0 tells";
  Define("  elementwise_mul(X=x, Y=offset) -> (Out=value)\n");
  EXPECT_EQ(Signedness(), QuantSpec::SIGNED);
  const auto result = Transpiled();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->notes, Contains(kNote));

  options_.config.mutable_activations()->set_signedness(QuantSpec::SIGNED);
  const auto asked = Transpiled();
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_THAT(asked->notes, Not(Contains(kNote)));
}

TEST_F(TextQuantizers, CodesWithoutASignAreNotNoted) {
  Define(
      "  elementwise_mul(X=x, Y=offset) -> (Out=product)\n"
      "  relu(X=product) -> (Out=value)\n");
  EXPECT_EQ(Signedness(), QuantSpec::UNSIGNED);
  const auto result = Transpiled();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->notes, Each(Not(HasSubstr("never negative"))));
}

TEST_F(TextQuantizers, WhatIsComputedFromAValueIsRefusedUnsignedCodes) {
  Define(kShifted);
  options_.config.mutable_activations()->set_signedness(QuantSpec::UNSIGNED);
  const auto result = Transpiled();
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->plan.decisions_size(), 1);
  EXPECT_FALSE(result->plan.decisions(0).quantized());
  EXPECT_EQ(result->plan.decisions(0).reason(), "may_be_negative");
  EXPECT_EQ(result->plan.decisions(0).detail(),
            "X is r, and quantizer q computes from it what it quantizes");
}

TEST_F(TextQuantizers, OpsOfAFormulaCanKeepAValueFromBeingNegative) {
  Define(
      "  elementwise_sub(X=x, Y=offset) -> (Out=moved)\n"
      "  abs(X=moved) -> (Out=value)\n");
  EXPECT_EQ(Signedness(), QuantSpec::UNSIGNED);
}

// As papers clip values: at a number, and at a trained level.
TEST_F(TextQuantizers, WhatIsClippedAboveZeroIsNotNegative) {
  for (const char* ops : {"  scale(X=x) -> (Out=half) {scale=0.5}\n"
                          "  clip(X=half) -> (Out=clipped) {min=0.0, max=1.0}\n",
                          "  elementwise_min(X=x, Y=range) -> (Out=clipped)\n",
                          "  elementwise_mul(X=x, Y=largest) -> (Out=codes)\n"
                          "  elementwise_div(X=codes, Y=range) -> (Out=clipped)\n"}) {
    quantizers_ = QuantizerTable();
    Define(absl::StrCat(ops,
                        "  abs(X=offset) -> (Out=gain)\n"
                        "  elementwise_mul(X=clipped, Y=gain) -> (Out=value)\n"));
    EXPECT_EQ(Signedness(), QuantSpec::UNSIGNED) << ops;
  }
}

TEST_F(TextQuantizers, ACodeOfASampleDoesNotDependOnOthers) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"  reduce_max(X=x) -> (Out=most) {stop_gradient=true}\n"
       "  elementwise_div(X=x, Y=most) -> (Out=share)\n"
       "  elementwise_mul(X=share, Y=offset) -> (Out=value)\n",
       "reduce_max"},
      {"  cumsum(X=x) -> (Out=sum) {axis=0, stop_gradient=true}\n"
       "  elementwise_sub(X=x, Y=sum) -> (Out=moved)\n"
       "  elementwise_sub(X=moved, Y=offset) -> (Out=value)\n",
       "cumsum"},
  };
  for (const auto& [ops, type] : cases) {
    quantizers_ = QuantizerTable();
    Define(ops);
    const absl::Status status = Transpiled().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr(absl::StrCat("quantizer q computes what it quantizes by ", type,
                               ", which is not known to compute each sample alone: the codes of a "
                               "sample would depend on the batch; it is for weights")));
  }
}

// What is done to each element alone, and how many a sample has.
TEST_F(TextQuantizers, ElementsAreChangedOneByOne) {
  Define(
      "  elementwise_sub(X=x, Y=offset) -> (Out=moved)\n"
      "  scale(X=moved) -> (Out=scaled) {scale=0.5}\n"
      "  fill_zeros_like(X=x) -> (Out=zeros)\n"
      "  greater_than(X=scaled, Y=zeros) -> (Out=is_positive)\n"
      "  cast(X=is_positive) -> (Out=mask) {in_dtype=0, out_dtype=5, stop_gradient=true}\n"
      "  elementwise_mul(X=scaled, Y=mask) -> (Out=masked)\n"
      "  elementwise_div(X=masked, Y=count) -> (Out=small)\n"
      "  clip(X=small) -> (Out=clipped) {min=-1.0, max=1.0}\n"
      "  dither(X=clipped) -> (Out=value)\n");
  EXPECT_EQ(Signedness(), QuantSpec::SIGNED);
}

TEST_F(TextQuantizers, DoReFaOfWeightsIsForWeights) {
  options_.config.mutable_activations()->set_quantizer("dorefa");
  EXPECT_THAT(std::string(Transpiled().status().message()),
              HasSubstr("quantizer dorefa computes what it quantizes by reduce_max"));
}

}  // namespace
}  // namespace fixpoint
