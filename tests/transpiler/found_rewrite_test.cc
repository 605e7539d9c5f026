// The invariants of a program that somebody else quantized, each with a defect that breaks it.

#include "transpiler/train/found_rewrite.h"

#include <glog/logging.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/train/invariants.h"

namespace fixpoint {
namespace {

// As the reference's QuantizeTranspiler makes it, but with op_role_var as it was.
constexpr char kQuantized[] = R"(
  var x f32[-1,4]
  var w f32[4,4] persistable
  var x.quantized f32[-1,4]
  var x.scale f32[1] persistable
  var x.quantized.dequantized f32[-1,4]
  var w.quantized f32[4,4]
  var w.scale f32[1]
  var w.quantized.dequantized f32[4,4]
  var y f32[-1,4]
  var z f32[-1,4]
  var learning_rate f32[1] persistable
  fake_quantize_moving_average_abs_max(X=x, InScale=x.scale) -> (Out=x.quantized, OutScale=x.scale) {bit_length=8}
  fake_dequantize_max_abs(X=x.quantized, Scale=x.scale) -> (Out=x.quantized.dequantized) {max_range=127.0}
  fake_quantize_abs_max(X=w) -> (Out=w.quantized, OutScale=w.scale) {bit_length=8}
  fake_dequantize_max_abs(X=w.quantized, Scale=w.scale) -> (Out=w.quantized.dequantized) {max_range=127.0}
  mul(X=x.quantized.dequantized, Y=w.quantized.dequantized) -> (Out=y)
  mul(X=x, Y=w) -> (Out=z)
  mul_grad(X=x.quantized.dequantized, Y=w.quantized.dequantized, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1, op_role_var=["w", "w@GRAD"]}
  mul_grad(X=x, Y=w, Out@GRAD=z@GRAD) -> (Y@GRAD=w@GRAD@RENAME) {op_role=1}
  sgd(Param=w, Grad=w@GRAD, LearningRate=learning_rate) -> (ParamOut=w) {op_role=2}
)";

std::string Violations(absl::string_view text, const Program* startup) {
  const Program program = ParsedProgram(text);
  const auto rewrite = FindRewrite(program, QuantizerTable());
  if (!rewrite.ok()) return std::string(rewrite.status().message());
  std::string found;
  for (const Violation& violation : CheckInvariants(program, *rewrite, startup)) {
    absl::StrAppend(&found, "invariant ", violation.invariant, ": ", violation.message, "\n");
  }
  return found;
}

TEST(FoundRewrite, InvariantsHoldOfASoundOne) { EXPECT_EQ(Violations(kQuantized, nullptr), ""); }

TEST(FoundRewrite, AFloatProgramHasNone) {
  const auto rewrite = FindRewrite(ParsedProgram("relu(X=x) -> (Out=y)"), QuantizerTable());
  ASSERT_TRUE(rewrite.ok());
  EXPECT_TRUE(rewrite->ops.empty());
  EXPECT_TRUE(rewrite->plan.sites.empty());
}

struct Defect {
  const char* name;
  const char* was;
  const char* becomes;
  const char* message;
};

const Defect kDefects[] = {
    {"GradientReadsTheFloatWeight",
     "mul_grad(X=x.quantized.dequantized, Y=w.quantized.dequantized, Out@GRAD=y@GRAD)",
     "mul_grad(X=x.quantized.dequantized, Y=w, Out@GRAD=y@GRAD)",
     R"(invariant 1: block 0, op 6 (mul_grad) reads "w" in slot Y where block 0, op 4 (mul) reads "w.quantized.dequantized"
invariant 3: block 0, op 6 (mul_grad) reads w in slot Y, not the quantized w
)"},
    {"GradientOfAFloatReaderReadsTheQuantizedValue", "mul_grad(X=x, Y=w, Out@GRAD=z@GRAD)",
     "mul_grad(X=x.quantized.dequantized, Y=w, Out@GRAD=z@GRAD)",
     R"(invariant 1: block 0, op 7 (mul_grad) reads "x.quantized.dequantized" in slot X where block 0, op 5 (mul) reads "x"
invariant 3: block 0, op 7 (mul_grad) reads "x.quantized.dequantized"; want only forward ops, and the same slots of their gradient ops, to read it
)"},
    {"OpRoleVarNamesTheQuantizedWeight", R"(op_role_var=["w", "w@GRAD"])",
     R"(op_role_var=["w.quantized.dequantized", "w@GRAD"])",
     R"(invariant 2: block 0, op 6 (mul_grad): op_role_var names "w.quantized.dequantized", which is made by quantizers; want the float parameter
)"},
    {"OptimizerUpdatesTheQuantizedWeight", "sgd(Param=w,", "sgd(Param=w.quantized.dequantized,",
     R"(invariant 2: block 0, op 8 (sgd) reads "w.quantized.dequantized" in slot Param, which is made by quantizers; want the float parameter
invariant 3: block 0, op 8 (sgd) reads "w.quantized.dequantized"; want only forward ops, and the same slots of their gradient ops, to read it
)"},
    {"OneValueHasTwoQuantizers", "  mul(X=x, Y=w) -> (Out=z)\n",
     R"(  var w.again f32[4,4]
  var w.again.scale f32[1]
  var w.again.dequantized f32[4,4]
  fake_quantize_abs_max(X=w) -> (Out=w.again, OutScale=w.again.scale) {bit_length=8}
  fake_dequantize_max_abs(X=w.again, Scale=w.again.scale) -> (Out=w.again.dequantized) {max_range=127.0}
  matmul(X=x, Y=w.again.dequantized) -> (Out=v)
  mul(X=x, Y=w) -> (Out=z)
)",
     "invariant 3: block 0, op 7 (matmul) reads w.again.dequantized in slot Y, not the quantized "
     "w\n"},
    {"ANewVariableIsNotDeclared", "  var x.quantized f32[-1,4]\n", "",
     R"(invariant 4: block 0, op 0 (fake_quantize_moving_average_abs_max): no block declares "x.quantized"
invariant 4: block 0, op 1 (fake_dequantize_max_abs): no block declares "x.quantized"
)"},
    {"TheQuantizerStandsAfterItsReader", "  mul(X=x, Y=w) -> (Out=z)\n",
     R"(  var v f32[-1,4]
  var v.q f32[-1,4]
  var v.s f32[1]
  relu(X=v.q) -> (Out=u)
  fake_quantize_dequantize_abs_max(X=v) -> (Out=v.q, OutScale=v.s) {bit_length=8}
  mul(X=x, Y=w) -> (Out=z)
)",
     "invariant 5: block 0, op 5 (relu) reads \"v.q\" before it is written\n"},
    {"AQuantizerIsBackward", "(Out=w.quantized, OutScale=w.scale) {bit_length=8}",
     "(Out=w.quantized, OutScale=w.scale) {bit_length=8, op_role=1}",
     "invariant 5: block 0, op 2 (fake_quantize_abs_max) has op_role 1; new ops belong to the "
     "forward part\n"},
    {"CodesAreReadByAProduct", "mul(X=x, Y=w) -> (Out=z)", "mul(X=x, Y=w.quantized) -> (Out=z)",
     "block 0, op 5 (mul): reads \"w.quantized\", the codes of block 0, op 2 "
     "(fake_quantize_abs_max); want a dequantize op between them"},
};

class FoundRewriteTest : public testing::TestWithParam<Defect> {};

TEST_P(FoundRewriteTest, DefectIsFound) {
  const Defect& defect = GetParam();
  std::string text = kQuantized;
  ASSERT_EQ(absl::StrReplaceAll({{defect.was, defect.becomes}}, &text), 1);
  EXPECT_EQ(Violations(text, nullptr), defect.message);
}

INSTANTIATE_TEST_SUITE_P(Planted, FoundRewriteTest, testing::ValuesIn(kDefects),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FoundRewrite, AStartupProgramInitializesTheStateOnce) {
  const Program empty = ParsedProgram("var w f32[4,4] persistable");
  EXPECT_EQ(Violations(kQuantized, &empty),
            "invariant 4: \"x.scale\" is initialised 0 times in the startup program\n");
  const Program startup = ParsedProgram(R"(
    var x.scale f32[1] persistable
    fill_constant() -> (Out=x.scale) {shape=[1L], dtype=5, value=0.001}
  )");
  EXPECT_EQ(Violations(kQuantized, &startup), "");
}

// A range that inference only reads may be another for each quantizer.
TEST(FoundRewrite, QuantizersOfOneValueThatReadOtherRangesAreTwo) {
  EXPECT_EQ(Violations(R"(
    var x f32[-1,4]
    var s f32[1] persistable
    var t f32[1] persistable
    var x.s f32[-1,4]
    var x.t f32[-1,4]
    fake_quantize_dequantize_moving_average_abs_max(X=x, InScale=s) -> (Out=x.s, OutScale=s) {is_test=true}
    fake_quantize_dequantize_moving_average_abs_max(X=x, InScale=t) -> (Out=x.t, OutScale=t) {is_test=true}
    relu(X=x.s) -> (Out=y)
    tanh(X=x.t) -> (Out=z)
  )",
                       nullptr),
            "");
}

}  // namespace
}  // namespace fixpoint
