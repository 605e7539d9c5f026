// One planted fault per case, with the text that it is reported by.

#include "ops/verifier.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "tests/ops/finding_case.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

class VerifierFinds : public testing::TestWithParam<FindingCase> {};

TEST_P(VerifierFinds, AndSaysWhere) { ExpectFindings(GetParam()); }

constexpr FindingCase kForm[] = {
    {"NothingInASoundProgram", R"(
var x f32[-1,4]
var w f32[4,2] persistable
var y f32[-1,2]
mul(X=x, Y=w) -> (Out=y)
)",
     ""},
    {"AnUnknownOp", R"(
var x f32[-1,4]
warp(X=x) -> (Out=x)
)",
     R"(warning: p: block 0, op 0 (warp): the op type is not known; the op is carried as it is [unknown_op]
    warp(X=x) -> (Out=x)
)"},
    {"AMissingInput", R"(
var x f32[-1,4]
mul(X=x) -> (Out=x)
)",
     R"(error: p: block 0, op 0 (mul): input Y is missing [missing_slot]
    mul(X=x) -> (Out=x)
)"},
    {"AnEmptyInputThatIsRequired", R"(
var x f32[-1,4]
relu(X=[]) -> (Out=x)
)",
     R"(error: p: block 0, op 0 (relu): input X is missing [missing_slot]
    relu(X=[]) -> (Out=x)
)"},
    {"ASlotThatTheOpHasNot", R"(
var x f32[-1,4]
relu(X=x, Y=x) -> (Out=x)
)",
     R"(warning: p: block 0, op 0 (relu): the op has no input Y [unknown_slot]
    relu(X=x, Y=x) -> (Out=x)
)"},
    {"TwoArgumentsWhereThereIsRoomForOne", R"(
var x f32[-1,4]
relu(X=[x, x]) -> (Out=x)
)",
     R"(error: p: block 0, op 0 (relu): input X has 2 arguments; want one [arity]
    relu(X=[x, x]) -> (Out=x)
)"},
    {"ASlotTwice", R"(
var x f32[-1,4]
relu(X=x, X=x) -> (Out=x)
)",
     R"(error: p: block 0, op 0 (relu): input X is there twice; want it once [arity]
    relu(X=x, X=x) -> (Out=x)
)"},
    {"AnAttributeOfAnotherType", R"(
var x f32[-1,4]
scale(X=x) -> (Out=x) {scale="2"}
)",
     R"(error: p: block 0, op 0 (scale): attribute scale is of type STRING; want FLOAT [attr_type]
    scale(X=x) -> (Out=x) {scale="2"}
)"},
    {"NothingInANarrowerNumber", R"(
var x f32[-1,4]
scale(X=x) -> (Out=x) {scale=2}
)",
     ""},
    {"AMissingAttribute", R"(
var x f32[-1,4]
cast(X=x) -> (Out=x) {in_dtype=5}
)",
     R"(error: p: block 0, op 0 (cast): attribute out_dtype is missing and has no default; want INT [missing_attr]
    cast(X=x) -> (Out=x) {in_dtype=5}
)"},
    {"AnAttributeWithTwoValues", R"(
var x f32[-1,4]
scale(X=x) -> (Out=x) {scale=2.0, scale=3.0}
)",
     R"(error: p: block 0, op 0 (scale): attribute scale is there twice, with two values [duplicate_attr]
    scale(X=x) -> (Out=x) {scale=2.0, scale=3.0}
)"},
};
INSTANTIATE_TEST_SUITE_P(Form, VerifierFinds, testing::ValuesIn(kForm), FindingCaseName);

constexpr FindingCase kNames[] = {
    {"AReadOfNothing", R"(
var y f32[-1,4]
relu(X=x) -> (Out=y)
)",
     R"(error: p: block 0, op 0 (relu): input X reads "x", which block 0 does not declare [dangling_name]
    relu(X=x) -> (Out=y)
)"},
    {"AnAttributeThatReadsNothing", R"(
var x f32[-1,4]
var y f32[-1,4]
var m u8[-1,4]
dropout(X=x) -> (Out=y, Mask=m) {dropout_prob=var(p), is_test=true}
)",
     R"(error: p: block 0, op 0 (dropout): an attribute reads "p", which block 0 does not declare [dangling_name]
    dropout(X=x) -> (Out=y, Mask=m) {dropout_prob=var(p), is_test=true}
)"},
    {"AWriteToNothing", R"(
var x f32[-1,4]
relu(X=x) -> (Out=y)
)",
     R"(error: p: block 0, op 0 (relu): output Out writes "y", which block 0 does not declare [dangling_name]
    relu(X=x) -> (Out=y)
)"},
    {"AReadOfNothingThatLooksLikeSomething", R"(
var w_3.w_0 f32[4,3,3,3]
var x f32[-1,3,8,8]
var y f32[-1,4,6,6]
conv2d(Input=x, Filter=w_3) -> (Output=y)
)",
     R"(error: p: block 0, op 0 (conv2d): input Filter reads "w_3", which block 0 does not declare; did you mean "w_3.w_0"? [dangling_name]
    conv2d(Input=x, Filter=w_3) -> (Output=y)
)"},
    {"AReadInASubBlock", R"(
block 0 {
var cond bool[1]
var hidden f32[-1,4]
var scopes step_scopes
while(Condition=cond, X=hidden) -> (Out=hidden, StepScopes=scopes) {sub_block=block(1)}
}
block 1 parent=0 {
relu(X=hiden) -> (Out=hidden)
}
)",
     R"(error: p: block 1, op 0 (relu): input X reads "hiden", which neither block 1 nor one that it stands in declares; did you mean "hidden"? [dangling_name]
    relu(X=hiden) -> (Out=hidden)
)"},
    {"ANameDeclaredTwice", R"(
var x f32[-1,4]
var x f32[-1,4]
relu(X=x) -> (Out=x)
)",
     R"(error: p: block 0: variable "x" is declared twice [duplicate_variable]
)"},
    {"ANegativeSize", R"(
var x f32[-2,4]
relu(X=x) -> (Out=x)
)",
     R"(warning: p: block 0: variable "x" is [-2, 4]; want sizes, or -1 where one is not known [variable_type]
)"},
    {"ATensorOfNoElementType", R"(
var x raw[4]
relu(X=x) -> (Out=x)
)",
     R"(error: p: block 0: variable "x" is a tensor of RAW, which is no data type of a tensor [variable_type]
)"},
    {"AReadBeforeTheWrite", R"(
var feed feed_minibatch persistable
var x f32[-1,4]
var y f32[-1,4]
var z f32[-1,4]
feed(X=feed) -> (Out=x) {col=0}
relu(X=y) -> (Out=z)
relu(X=x) -> (Out=y)
)",
     R"(error: p: block 0, op 1 (relu): input X reads "y", which is written only later and is not persistable [unreached_read]
    relu(X=y) -> (Out=z)
)"},
    {"AReadOfWhatIsNeverWritten", R"(
var feed feed_minibatch persistable
var x f32[-1,4]
var y f32[-1,4]
var z f32[-1,4]
feed(X=feed) -> (Out=x) {col=0}
elementwise_add(X=x, Y=y) -> (Out=z)
)",
     R"(error: p: block 0, op 1 (elementwise_add): input Y reads "y", which no op writes and no feed op fills [unreached_read]
    elementwise_add(X=x, Y=y) -> (Out=z)
)"},
    {"AGradientThatNoOpWrites", R"(
var x f32[-1,4]
var y f32[-1,4]
var y@GRAD f32[-1,4]
var x@GRAD f32[-1,4]
relu(X=x) -> (Out=y)
relu_grad(Out=y, Out@GRAD=y@GRAD) -> (X@GRAD=x@GRAD)
)",
     R"(error: p: block 0, op 1 (relu_grad): input Out@GRAD reads "y@GRAD", a gradient that no op writes [unreached_read]
    relu_grad(Out=y, Out@GRAD=y@GRAD) -> (X@GRAD=x@GRAD)
)"},
    {"AGradientOpBeforeItsForwardOp", R"(
var x f32[-1,4]
var w f32[4,2] persistable
var y f32[-1,2]
var y@GRAD f32[-1,2]
var w@GRAD f32[4,2]
fill_constant() -> (Out=y@GRAD) {shape=[1L, 2L], dtype=5, value=1.0}
mul_grad(Out@GRAD=y@GRAD, X=x, Y=w) -> (Y@GRAD=w@GRAD) {op_role=1}
mul(X=x, Y=w) -> (Out=y)
)",
     R"(error: p: block 0, op 1 (mul_grad): the op stands before block 0, op 2 (mul), of which it is the gradient; want it after [gradient_mismatch]
    mul_grad(Out@GRAD=y@GRAD, X=x, Y=w) -> (Y@GRAD=w@GRAD) {op_role=1}
)"},
    {"NothingInABlockThatReadsNothingFromOutside", R"(
block 0 {
  var c bool[1]
  var s step_scopes
  var o f32[1]
  fill_constant() -> (Out=c) {shape=[1], dtype=0, value=1.0}
  fill_constant() -> (Out=o) {shape=[1], dtype=5, value=1.0}
  conditional_block(Cond=c, Input=[]) -> (Out=o, Scope=s) {sub_block=block(1), is_scalar_condition=true}
}
block 1 parent=0 {
  fill_constant() -> (Out=o) {shape=[1], dtype=5, value=2.0}
}
)",
     ""},
    {"ABlockThatNoOpRuns", R"(
block 0 {
  var x f32[4]
  relu(X=x) -> (Out=x)
}
block 1 parent=0 {
}
)",
     R"(warning: p: block 1: no op runs this block [block_structure]
)"},
    {"ABlockThatTwoOpsRun", R"(
block 0 {
  var c bool[1]
  var s step_scopes
  while(X=c, Condition=c) -> (Out=c, StepScopes=s) {sub_block=block(1)}
  while(X=c, Condition=c) -> (Out=c, StepScopes=s) {sub_block=block(1)}
}
block 1 parent=0 {
}
)",
     R"(error: p: block 0, op 1 (while): the op runs block 1, which another op runs too; want a block of its own [block_structure]
    while(X=c, Condition=c) -> (Out=c, StepScopes=s) {sub_block=block(1)}
)"},
};
INSTANTIATE_TEST_SUITE_P(Names, VerifierFinds, testing::ValuesIn(kNames), FindingCaseName);

constexpr FindingCase kTypes[] = {
    {"AShapeThatDoesNotFollow", R"(
var x f32[-1,4]
var w f32[4,2] persistable
var y f32[-1,3]
mul(X=x, Y=w) -> (Out=y)
)",
     R"(error: p: block 0, op 0 (mul): output Out "y" is declared [-1, 3]; want [-1, 2] [shape]
    mul(X=x, Y=w) -> (Out=y)
)"},
    {"ADtypeThatDoesNotFollow", R"(
var x f32[-1,4]
var y i32[-1,4]
relu(X=x) -> (Out=y)
)",
     R"(error: p: block 0, op 0 (relu): output Out "y" is declared INT32; want FP32 [dtype]
    relu(X=x) -> (Out=y)
)"},
    {"InputsThatContradictEachOther", R"(
var x f32[1,4,8,8]
var w f32[16,3,3,3] persistable
var y f32[1,16,6,6]
conv2d(Input=x, Filter=w) -> (Output=y)
)",
     R"(error: p: block 0, op 0 (conv2d): Filter [16, 3, 3, 3] with 1 groups reads 3 channels; Input [1, 4, 8, 8] has 4 [shape]
    conv2d(Input=x, Filter=w) -> (Output=y)
)"},
    {"AScaleDeclaredAsItsInput", R"(
var x f32[8,4]
var q f32[8,4]
var s f32[8,4]
fake_quantize_abs_max(X=x) -> (Out=q, OutScale=s)
)",
     R"(error: p: block 0, op 0 (fake_quantize_abs_max): output OutScale "s" is declared [8, 4]; want [1] [shape]
    fake_quantize_abs_max(X=x) -> (Out=q, OutScale=s)
)"},
};
INSTANTIATE_TEST_SUITE_P(Types, VerifierFinds, testing::ValuesIn(kTypes), FindingCaseName);

TEST(Verifier, FindsWhatTheStartupProgramLeavesOut) {
  const Program program = ProgramFromText(R"(
var w f32[4,2] persistable
var b f32[2] persistable
var s f32[1] persistable
var x f32[-1,4]
var y f32[-1,2]
mul(X=x, Y=w) -> (Out=y)
elementwise_add(X=y, Y=b) -> (Out=y)
scale(X=s) -> (Out=s)
)");
  const Program startup = ProgramFromText(R"(
var w f32[2,4] persistable
var s f32[1] persistable
fill_constant() -> (Out=w) {shape=[2L, 4L], value=0.0}
fill_constant() -> (Out=s) {shape=[1L], value=0.0}
fill_constant() -> (Out=s) {shape=[1L], value=1.0}
)");
  VerifyOptions options;
  options.startup = &startup;
  EXPECT_EQ(
      FindingsText(program, Verify(program, options)),
      R"(error: p: block 0: persistable "w" is [4, 2], and the startup program makes it [2, 4] [shape]
error: p: block 0: persistable "b" is not initialized by the startup program [uninitialized]
warning: p: block 0: persistable "s" is written 2 times by the startup program; want once [initialized_twice]
)");
}

TEST(Verifier, OrdersFindingsAsTheProgramDoes) {
  const Program program = ProgramFromText(R"(
var x f32[-1,4]
var x f32[-1,4]
warp(X=x) -> (Out=x)
relu(X=[]) -> (Out=y)
)");
  std::vector<std::string> codes;
  for (const Finding& finding : Verify(program)) codes.emplace_back(CodeName(finding.code));
  EXPECT_EQ(codes, (std::vector<std::string>{"duplicate_variable", "unknown_op", "dangling_name",
                                             "missing_slot"}));
}

TEST(Verifier, LooksAtTheVariablesThatEditsLeave) {
  Program program = ProgramFromText("var x f32[4]\nvar x f32[4]\nvar y f32[-2]\n");
  Rewriter rewriter(&program, "test");
  const std::vector<const Variable*> variables = program.block(0).variables();
  rewriter.Remove(*variables[1]);
  rewriter.Remove(*variables[2]);
  EXPECT_EQ(FindingsText(program, Verify(program)), "");
}

TEST(Verifier, WarningsAreNoErrors) {
  const Program program = ProgramFromText("var x f32[4]\nwarp(X=x) -> (Out=x)\n");
  const std::vector<Finding> findings = Verify(program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_FALSE(HasErrors(findings));
}

// An op that is wrong in each of its slots has a line with all of them.
TEST(Verifier, TextGrowsNoFasterThanTheFindings) {
  constexpr int kSlots = 20000;
  std::string text = "var x f32[1]\nrelu(X=x";
  for (int i = 0; i < kSlots; ++i) absl::StrAppend(&text, ", Slot", i, "=x");
  absl::StrAppend(&text, ") -> (Out=x)\n");
  const Program program = ProgramFromText(text);
  const std::vector<Finding> findings = Verify(program);
  EXPECT_EQ(findings.size(), static_cast<size_t>(kSlots));
  EXPECT_LT(FindingsText(program, findings).size(), kSlots * size_t{2500});
}

// An empty slot implies nothing, and nothing searches for what it may belong to.
TEST(Verifier, TakesManyEmptySlots) {
  std::string text = "var x f32[1,4]\nvar g f32[1,4]\nsqueeze_grad(X=x, Out@GRAD=g";
  for (int i = 0; i < 100000; ++i) absl::StrAppend(&text, ", a", i, "=[]");
  absl::StrAppend(&text, ") -> (X@GRAD=g");
  for (int i = 0; i < 100000; ++i) absl::StrAppend(&text, ", b", i, "@GRAD=[]");
  const Program program = ProgramFromText(absl::StrCat(text, ")\n"));
  std::string codes;
  for (const Finding& finding : Verify(program))
    absl::StrAppend(&codes, CodeName(finding.code), " ");
  EXPECT_EQ(codes, "gradient_mismatch ");
}

TEST(Verifier, CutsATypeOffThatEachFindingRepeats) {
  const std::string type(100000, 'a');
  std::string text = absl::StrCat(type, "(X=[x");
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, ", x");
  const Program program = ProgramFromText(absl::StrCat(text, "])\n"));
  const std::string findings = FindingsText(program, Verify(program));
  EXPECT_EQ(findings.substr(0, 258),
            absl::StrCat("error: p: block 0, op 0 (", std::string(200, 'a'),
                         "...): input X reads \"x\", which bl"));
  EXPECT_LT(findings.size(), 3u << 20);
}

// Walking the op's inputs for each of its reads would not finish.
TEST(Verifier, TakesAWideOpThatUpdatesWhatIsFed) {
  constexpr int kVariables = 150000;
  std::string variables;
  std::string names;
  for (int i = 0; i < kVariables; ++i) {
    absl::StrAppend(&variables, "var v", i, " f32[1]\n");
    absl::StrAppend(&names, i == 0 ? "v" : ", v", i);
  }
  const Program program =
      ProgramFromText(absl::StrCat(variables, "warp(X=[", names, "]) -> (Out=[", names, "])\n"));
  const std::vector<Finding> findings = Verify(program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, FindingCode::kUnknownOp);
}

// Walking a chain of quantizers to its end from each of its links would not finish.
TEST(Verifier, TakesAChainOfQuantizersAgainstTheirOrder) {
  constexpr int kQuantizers = 20000;
  std::string variables = "var v0 f32[4]\n";
  std::string ops;
  for (int i = 0; i < kQuantizers; ++i) {
    absl::StrAppend(&variables, "var v", i + 1, " f32[4]\nvar s", i, " f32[1]\n");
    absl::StrAppend(&ops, "fake_quantize_dequantize_abs_max(X=v", i + 1, ") -> (Out=v", i,
                    ", OutScale=s", i, ")\n");
  }
  int unreached_reads = 0;
  for (const Finding& finding : Verify(ProgramFromText(absl::StrCat(variables, ops)))) {
    unreached_reads += finding.code == FindingCode::kUnreachedRead;
  }
  // All but what is fed, the end of the chain.
  EXPECT_EQ(unreached_reads, kQuantizers - 1);
}

// The message about an unknown name, where `names` other variables are declared before the one with
// a similar name.
std::string MessageAfterNames(int names) {
  std::string text = "block 0 {\nvar hidden f32[4]\n";
  absl::StrAppend(&text, "var cond bool[1]\nvar scopes step_scopes\n",
                  "while(Condition=cond) -> (StepScopes=scopes) {sub_block=block(1)}\n}\n",
                  "block 1 parent=0 {\n");
  for (int i = 0; i < names; ++i) absl::StrAppend(&text, "var of_another_kind_", i, " f32[4]\n");
  absl::StrAppend(&text, "relu(X=hiden) -> (Out=hidden)\n}\n");
  const Program program = ProgramFromText(text);
  for (const Finding& finding : Verify(program)) {
    if (finding.code == FindingCode::kDanglingName) return finding.message;
  }
  return "";
}

TEST(Verifier, LooksForANearNameAmongSoManyOnly) {
  const std::string message =
      "input X reads \"hiden\", which neither block 1 nor one that it stands in declares";
  EXPECT_EQ(MessageAfterNames(1999), message + "; did you mean \"hidden\"?");
  EXPECT_EQ(MessageAfterNames(2000), message);
}

}  // namespace
}  // namespace fixpoint
