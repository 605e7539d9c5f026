// Lowering of programs that are made to take long, or that nothing could run.

#include "transpiler/lower/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ops/codes/integer_reasons.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

constexpr char kVariables[] = R"(
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var zero i32[1] persistable
  var s f32[1] persistable
  var w.int8 i8[2,2] persistable
  var w f32[2,2]
  var q i8[-1,2]
  var x f32[-1,2]
  var y f32[-1,2]
  var x0 f32[-1,2]
  var z.q f32[-1,2]
  var z f32[-1,2]
)";
constexpr char kOps[] = R"(
  feed(X=feed) -> (Out=q) {col=0}
  dequantize_linear(Scale=s, X=q, ZeroPoint=zero) -> (Y=x) {bit_length=8, quant_axis=-1, round_type=0}
  dequantize_linear(Scale=s, X=w.int8, ZeroPoint=zero) -> (Y=w) {bit_length=8, quant_axis=-1, round_type=0}
  mul(X=x, Y=w) -> (Out=y)
  relu6(X=y) -> (Out=x0)
)";
constexpr char kParameters[] = "zero i32[1] 0\ns f32[1] 127\nw.int8 i8[2,2] 1 2 3 4\n";

// Each concat reads twice what the one before it gives: there are more ways to the end than could
// be walked. The first reads the clip's result twice, so that this is stored as floats.
TEST(Lower, TakesOpsThatMoveAValueTwiceEach) {
  constexpr int kConcats = 100;
  std::string variables = kVariables;
  std::string ops = kOps;
  for (int i = 0; i < kConcats; ++i) {
    absl::StrAppend(&variables, "  var x", i + 1, " f32[-1,2]\n");
    absl::StrAppend(&ops, "  concat(X=[x", i, ", x", i, "]) -> (Out=x", i + 1, ") {axis=0}\n");
  }
  absl::StrAppend(&ops, "  quantize_linear(Scale=s, X=x", kConcats,
                  ", ZeroPoint=zero) -> (Y=z.q) {bit_length=8, quant_axis=-1, round_type=0}\n",
                  "  dequantize_linear(Scale=s, X=z.q, ZeroPoint=zero) -> (Y=z) {bit_length=8, "
                  "quant_axis=-1, round_type=0}\n",
                  "  fetch(X=z) -> (Out=fetch) {col=0}\n");
  const absl::StatusOr<Scope> parameters = ParseParameters(kParameters, "parameters");
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  const absl::StatusOr<LoweredModel> model =
      Lower(ParsedProgram(absl::StrCat(variables, ops)), *parameters);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto relu6 = std::find_if(model->ops.begin(), model->ops.end(),
                                  [](const LoweredOp& op) { return op.type == "relu6"; });
  ASSERT_NE(relu6, model->ops.end());
  EXPECT_EQ(relu6->reason, IntegerReason::kKeepsNan);
}

TEST(Lower, LeavesAnOpWithAnInputThatItsTypeHasNot) {
  const absl::StatusOr<Scope> parameters = ParseParameters(kParameters, "parameters");
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  const std::string ops =
      absl::StrReplaceAll(absl::StrCat(kOps, "  fetch(X=x0) -> (Out=fetch) {col=0}\n"),
                          {{"X=x, Y=w", "X=x, Y=w, Z=x"}});
  const absl::StatusOr<LoweredModel> model =
      Lower(ParsedProgram(absl::StrCat(kVariables, ops)), *parameters);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto mul = std::find_if(model->ops.begin(), model->ops.end(),
                                [](const LoweredOp& op) { return op.type == "mul"; });
  ASSERT_NE(mul, model->ops.end());
  EXPECT_EQ(mul->reason, IntegerReason::kAttributes);
}

// What it writes there is declared as something else than codes.
TEST(Lower, PassesCodesThroughNoOpWithAnOutputThatItsTypeHasNot) {
  const absl::StatusOr<Scope> parameters = ParseParameters(kParameters, "parameters");
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  const std::string ops =
      absl::StrCat(kOps,
                   "  concat(X=[x0]) -> (Out=x1, Mask=other) {axis=0}\n"
                   "  quantize_linear(Scale=s, X=x1, ZeroPoint=zero) -> (Y=z.q) {quant_axis=-1}\n"
                   "  dequantize_linear(Scale=s, X=z.q, ZeroPoint=zero) -> (Y=z) {quant_axis=-1}\n"
                   "  fetch(X=z) -> (Out=fetch) {col=0}\n"
                   "  fetch(X=other) -> (Out=fetch) {col=1}\n");
  const absl::StatusOr<LoweredModel> model = Lower(
      ParsedProgram(absl::StrCat(kVariables, "  var x1 f32[-1,2]\n  var other f32[-1,2]\n", ops)),
      *parameters);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto concat = std::find_if(model->ops.begin(), model->ops.end(),
                                   [](const LoweredOp& op) { return op.type == "concat"; });
  ASSERT_NE(concat, model->ops.end());
  EXPECT_EQ(concat->reason, IntegerReason::kAttributes);
  EXPECT_EQ(model->program.Find(model->program.block(0), "other")->tensor()->data_type(),
            VarType::FP32);
}

// What becomes of an op that moves the codes of x to m, from where they become codes again.
IntegerReason ReasonOfMove(const std::string& type, const std::string& op,
                           const std::string& dims) {
  const absl::StatusOr<Scope> parameters = ParseParameters(
      absl::StrCat(kParameters, "index i64[1,1] 0\nrows i64[1,2] 0 0\nmask bool[1,2] 1 0\n",
                   "number f32[1,2] 1 2\n"),
      "parameters");
  EXPECT_TRUE(parameters.ok()) << parameters.status();
  const std::string variables = absl::StrCat(
      "  var index i64[1,1] persistable\n  var rows i64[1,2] persistable\n",
      "  var mask bool[1,2] persistable\n", "  var number f32[1,2] persistable\n  var m f32", dims,
      "\n  var m.q f32", dims, "\n  var n f32", dims, "\n");
  const absl::StatusOr<LoweredModel> model =
      Lower(ParsedProgram(absl::StrCat(kVariables, variables, R"(
  feed(X=feed) -> (Out=q) {col=0}
  dequantize_linear(Scale=s, X=q, ZeroPoint=zero) -> (Y=x) {bit_length=8, quant_axis=-1, round_type=0}
  )",
                                       op, R"(
  quantize_linear(Scale=s, X=m, ZeroPoint=zero) -> (Y=m.q) {bit_length=8, quant_axis=-1, round_type=0}
  dequantize_linear(Scale=s, X=m.q, ZeroPoint=zero) -> (Y=n) {bit_length=8, quant_axis=-1, round_type=0}
  fetch(X=n) -> (Out=fetch) {col=0}
)")),
            *parameters);
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return IntegerReason::kNotQuantized;
  const auto moved = std::find_if(model->ops.begin(), model->ops.end(),
                                  [&](const LoweredOp& lowered) { return lowered.type == type; });
  return moved != model->ops.end() ? moved->reason : IntegerReason::kNotQuantized;
}

TEST(Lower, MovesCodesToOutputsOfAnyName) {
  EXPECT_EQ(ReasonOfMove("flip", "flip(X=x) -> (Out=m) {axis=[1], dims=[1]}", "[-1,2]"),
            IntegerReason::kOnIntegers);
  EXPECT_EQ(ReasonOfMove("stack", "stack(X=[x, x]) -> (Y=m) {axis=0}", "[2,-1,2]"),
            IntegerReason::kOnIntegers);
  EXPECT_EQ(ReasonOfMove("take_along_axis",
                         "take_along_axis(Input=x, Index=index) -> (Result=m) {Axis=1}", "[1,1]"),
            IntegerReason::kOnIntegers);
  EXPECT_EQ(ReasonOfMove("sequence_reverse", "sequence_reverse(X=x) -> (Y=m)", "[-1,2]"),
            IntegerReason::kOnIntegers);
}

TEST(Lower, PadsCodesByZeroAlone) {
  const auto reason_of = [](const std::string& value) {
    return ReasonOfMove(
        "pad", absl::StrCat("pad(X=x) -> (Out=m) {paddings=[0, 0, 1, 2], pad_value=", value, "}"),
        "[-1,5]");
  };
  EXPECT_EQ(reason_of("0.0"), IntegerReason::kOnIntegers);
  EXPECT_EQ(reason_of("-0.0"), IntegerReason::kAttributes);
  EXPECT_EQ(reason_of("1.0"), IntegerReason::kAttributes);
  EXPECT_EQ(reason_of("nan"), IntegerReason::kAttributes);
}

TEST(Lower, ChoosesAmongCodesOfOneKind) {
  EXPECT_EQ(ReasonOfMove("where", "where(Condition=mask, X=x, Y=x) -> (Out=m)", "[1,2]"),
            IntegerReason::kOnIntegers);
  EXPECT_EQ(ReasonOfMove("where", "where(Condition=mask, X=x, Y=number) -> (Out=m)", "[1,2]"),
            IntegerReason::kNotQuantized);
  const std::string put = "put_along_axis(Input=x, Index=rows, Value=x) -> (Result=m) {Axis=0";
  EXPECT_EQ(ReasonOfMove("put_along_axis", absl::StrCat(put, "}"), "[-1,2]"),
            IntegerReason::kOnIntegers);
  EXPECT_EQ(ReasonOfMove("put_along_axis", absl::StrCat(put, ", Reduce=\"add\"}"), "[-1,2]"),
            IntegerReason::kAttributes);
}

TEST(Lower, DividesAndJoinsRowsOfCodes) {
  const std::string split = "split_lod_tensor(X=x, Mask=mask) -> (OutTrue=m, OutFalse=x0)";
  EXPECT_EQ(ReasonOfMove("split_lod_tensor", split, "[-1,2]"), IntegerReason::kOnIntegers);
  EXPECT_EQ(ReasonOfMove("merge_lod_tensor",
                         "merge_lod_tensor(X=number, Mask=mask, InTrue=x, InFalse=x) -> (Out=m)",
                         "[-1,2]"),
            IntegerReason::kOnIntegers);
}

// What becomes of an average pooling of images of 5000 x 5000 beside the other ops.
IntegerReason ReasonOfPooling(const std::string& attributes) {
  const absl::StatusOr<Scope> parameters = ParseParameters(kParameters, "parameters");
  EXPECT_TRUE(parameters.ok()) << parameters.status();
  const absl::StatusOr<LoweredModel> model =
      Lower(ParsedProgram(absl::StrCat(
                kVariables, "  var iq i8[-1,1,5000,5000]\n  var i f32[-1,1,5000,5000]\n",
                "  var p f32[-1,1,-1,-1]\n", kOps, "  feed(X=feed) -> (Out=iq) {col=1}\n",
                "  dequantize_linear(Scale=s, X=iq, ZeroPoint=zero) -> (Y=i) {quant_axis=-1}\n",
                "  pool2d(X=i) -> (Out=p) {pooling_type=\"avg\", ", attributes, "}\n",
                "  fetch(X=x0) -> (Out=fetch) {col=0}\n  fetch(X=p) -> (Out=fetch) {col=1}\n")),
            *parameters);
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return IntegerReason::kNoRule;
  const auto pooling = std::find_if(model->ops.begin(), model->ops.end(),
                                    [](const LoweredOp& op) { return op.type == "pool2d"; });
  EXPECT_NE(pooling, model->ops.end());
  return pooling != model->ops.end() ? pooling->reason : IntegerReason::kNoRule;
}

// Small windows of large images do.
TEST(Lower, LeavesAnAverageOfMoreThan32BitsHold) {
  EXPECT_EQ(ReasonOfPooling("ksize=[1, 1], global_pooling=true"), IntegerReason::kSumsTooLarge);
  EXPECT_EQ(ReasonOfPooling("ksize=[2, 2]"), IntegerReason::kOnIntegers);
}

}  // namespace
}  // namespace fixpoint
