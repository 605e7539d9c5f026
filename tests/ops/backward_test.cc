// The backward pass on small programs: which gradient ops stand after which forward ops, and what
// is refused.

#include "ops/backward.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tests/ops/text_program.h"
#include "tests/testing/training_ops.h"

namespace fixpoint {
namespace {

// A program whose loss is the mean of `last`, which `ops` compute from the parameters v and w. All
// of v, w, a, b, c and d have two elements.
std::string MeanOf(absl::string_view last, absl::string_view ops) {
  return absl::StrCat(R"(
    var v f32[2] persistable
    var w f32[2] persistable
    var a f32[2]
    var b f32[2]
    var c f32[2]
    var d f32[2]
    var loss f32[1]
  )",
                      ops, "\nmean(X=", last, ") -> (Out=loss)");
}

// The ops that the backward pass appends, or its error.
std::string Backward(absl::string_view text, const BackwardOptions& options = {}) {
  Program program = ProgramFromText(text);
  const auto parameters = AppendBackward(&program, "loss", options);
  return parameters.ok() ? TrainingOps(program) : std::string(parameters.status().ToString());
}

// The backward ops of a MeanOf, without the two that every mean begins with.
std::string BackwardOfMean(absl::string_view last, absl::string_view ops,
                           const BackwardOptions& options = {}) {
  const std::string of_mean = absl::StrCat(
      "fill_constant() -> (Out=loss@GRAD)\n"
      "mean_grad(Out@GRAD=loss@GRAD, X=",
      last, ") -> (X@GRAD=", last, "@GRAD)\n");
  return std::string(absl::StripPrefix(Backward(MeanOf(last, ops), options), of_mean));
}

TEST(Backward, GivesEachParameterItsGradient) {
  Program program = ProgramFromText(R"(
    var x f32[-1,2] need_check_feed
    var w f32[2,1] persistable
    var y f32[-1,1]
    var loss f32[1]
    mul(X=x, Y=w) -> (Out=y)
    mean(X=y) -> (Out=loss)
  )");
  const auto parameters = AppendBackward(&program, "loss");
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  ASSERT_EQ(parameters->size(), 1);
  EXPECT_EQ(parameters->front().parameter, "w");
  EXPECT_EQ(parameters->front().gradient, "w@GRAD");
  EXPECT_EQ(PrintProgram(program.Proto()), R"(program
block 0 {
  var x f32[-1,2] need_check_feed
  var w f32[2,1] persistable
  var y f32[-1,1]
  var loss f32[1]
  var loss@GRAD f32[1]
  var y@GRAD f32[-1,1]
  var w@GRAD f32[2,1]
  mul(X=x, Y=w) -> (Out=y)
  mean(X=y) -> (Out=loss) {op_role=256}
  fill_constant() -> (Out=loss@GRAD) {shape=[1L], dtype=5, value=1.0, force_cpu=false, op_role=257}
  mean_grad(Out@GRAD=loss@GRAD, X=y) -> (X@GRAD=y@GRAD) {op_role=1}
  mul_grad(Out@GRAD=y@GRAD, X=x, Y=w) -> (X@GRAD=[], Y@GRAD=w@GRAD) {op_role=1, op_role_var=["w", "w@GRAD"]}
}
)");
}

TEST(Backward, SumsTheGradientsOfAValueThatIsReadTwice) {
  EXPECT_EQ(BackwardOfMean("d", R"(
    relu(X=w) -> (Out=a)
    tanh(X=a) -> (Out=b)
    sigmoid(X=a) -> (Out=c)
    elementwise_add(X=b, Y=c) -> (Out=d)
  )"),
            "elementwise_add_grad(Out@GRAD=d@GRAD, X=b, Y=c) -> (X@GRAD=b@GRAD, Y@GRAD=c@GRAD)\n"
            "sigmoid_grad(Out=c, Out@GRAD=c@GRAD) -> (X@GRAD=a@GRAD@RENAME@block0@0)\n"
            "tanh_grad(Out=b, Out@GRAD=b@GRAD) -> (X@GRAD=a@GRAD@RENAME@block0@1)\n"
            "sum(X=[a@GRAD@RENAME@block0@0, a@GRAD@RENAME@block0@1]) -> (Out=a@GRAD)\n"
            "relu_grad(Out=a, Out@GRAD=a@GRAD) -> (X@GRAD=w@GRAD)\n");
}

// Gradients, the parts that are summed to one, and zeros in its place have the type of the value.
TEST(Backward, DeclaresWhatItAddsWithTheTypeOfTheValue) {
  for (const std::string type : {"f64", "f16", "bf16"}) {
    Program program = ProgramFromText(absl::StrReplaceAll(R"(
      var w T[4] persistable
      var a T[4]
      var b T[4]
      var c T[4]
      var l T[2]
      var r T[2]
      var loss T[1]
      relu(X=w) -> (Out=a)
      tanh(X=a) -> (Out=b)
      elementwise_mul(X=a, Y=b) -> (Out=c)
      split(X=c) -> (Out=[l, r]) {num=2, axis=0}
      mean(X=l) -> (Out=loss)
    )",
                                                          {{" T[", absl::StrCat(" ", type, "[")}}));
    ASSERT_TRUE(AppendBackward(&program, "loss").ok());
    std::string added;
    for (const absl::string_view line : absl::StrSplit(PrintProgram(program.Proto()), '\n')) {
      if (absl::StartsWith(line, "  var ") && absl::StrContains(line, '@')) {
        absl::StrAppend(&added, absl::StripPrefix(line, "  var "), "\n");
      }
    }
    EXPECT_EQ(absl::StrReplaceAll(added, {{absl::StrCat(" ", type, "["), " T["}}), R"(loss@GRAD T[1]
l@GRAD T[2]
r@GRAD T[2]
c@GRAD T[4]
a@GRAD@RENAME@block0@0 T[4]
b@GRAD T[4]
a@GRAD@RENAME@block0@1 T[4]
a@GRAD T[4]
w@GRAD T[4]
)");
  }
}

// Names mean nothing: a variable that is named like the gradient of h is a variable like any other.
TEST(Backward, TakesAVariableThatIsCalledAsAGradientForWhatItIs) {
  Program program = ProgramFromText(R"(
    var w f32[2] persistable
    var h@GRAD.x f32[2]
    var y f32[2]
    var loss f32[1]
    scale(X=w) -> (Out=h@GRAD.x) {scale=2.0}
    relu(X=h@GRAD.x) -> (Out=y)
    mean(X=y) -> (Out=loss)
  )");
  ASSERT_TRUE(AppendBackward(&program, "loss").ok());
  EXPECT_EQ(TrainingOps(program),
            "fill_constant() -> (Out=loss@GRAD)\n"
            "mean_grad(Out@GRAD=loss@GRAD, X=y) -> (X@GRAD=y@GRAD)\n"
            "relu_grad(Out=y, Out@GRAD=y@GRAD) -> (X@GRAD=h@GRAD.x@GRAD)\n"
            "scale(ScaleTensor=[], X=h@GRAD.x@GRAD) -> (Out=w@GRAD)\n");
  const Variable* gradient = program.Find(program.block(0), "h@GRAD.x@GRAD");
  ASSERT_NE(gradient, nullptr);
  EXPECT_EQ(PrintVar(*gradient->desc()), "var h@GRAD.x@GRAD f32[2]");
}

TEST(Backward, SumsTheGradientsOfAParameterAfterAllOps) {
  EXPECT_EQ(BackwardOfMean("c", R"(
    tanh(X=w) -> (Out=a)
    sigmoid(X=w) -> (Out=b)
    elementwise_add(X=a, Y=b) -> (Out=c)
  )"),
            "elementwise_add_grad(Out@GRAD=c@GRAD, X=a, Y=b) -> (X@GRAD=a@GRAD, Y@GRAD=b@GRAD)\n"
            "sigmoid_grad(Out=b, Out@GRAD=b@GRAD) -> (X@GRAD=w@GRAD@RENAME@block0@0)\n"
            "tanh_grad(Out=a, Out@GRAD=a@GRAD) -> (X@GRAD=w@GRAD@RENAME@block0@1)\n"
            "sum(X=[w@GRAD@RENAME@block0@0, w@GRAD@RENAME@block0@1]) -> (Out=w@GRAD)\n");
}

TEST(Backward, TakesZerosForAnOutputThatTheLossDoesNotDependOn) {
  EXPECT_EQ(Backward(R"(
    var w f32[2,2] persistable
    var a f32[2,1]
    var b f32[2,1]
    var loss f32[1]
    split(X=w) -> (Out=[a, b]) {num=2, axis=1}
    mean(X=b) -> (Out=loss)
  )"),
            "fill_constant() -> (Out=loss@GRAD)\n"
            "mean_grad(Out@GRAD=loss@GRAD, X=b) -> (X@GRAD=b@GRAD)\n"
            "fill_zeros_like(X=a) -> (Out=a@GRAD)\n"
            "concat(AxisTensor=[], X=[a@GRAD, b@GRAD]) -> (Out=w@GRAD)\n");
}

TEST(Backward, PassesAnOpThatWritesInPlace) {
  EXPECT_EQ(BackwardOfMean("a", R"(
    scale(X=w) -> (Out=a) {scale=3.0}
    relu(X=a) -> (Out=a)
  )"),
            "relu_grad(Out=a, Out@GRAD=a@GRAD) -> (X@GRAD=a@GRAD)\n"
            "scale(ScaleTensor=[], X=a@GRAD) -> (Out=w@GRAD)\n");
}

// The loss does not depend on a value that was written before and never read.
TEST(Backward, PassesOnlyTheWriteThatIsRead) {
  EXPECT_EQ(BackwardOfMean("a", R"(
    scale(X=w) -> (Out=a) {scale=2.0}
    scale(X=v) -> (Out=a) {scale=3.0}
  )"),
            "scale(ScaleTensor=[], X=a@GRAD) -> (Out=v@GRAD)\n");
}

// The op has no gradient for its label, so the ops that compute the label have none either.
TEST(Backward, GoesNoFurtherThanGradientOpsDo) {
  EXPECT_EQ(Backward(R"(
    var w f32[2,3] persistable
    var p f32[2,3]
    var q f32[2,3]
    var y f32[2,1]
    var loss f32[1]
    softmax(X=w) -> (Out=p)
    softmax(X=w) -> (Out=q)
    cross_entropy(X=p, Label=q) -> (Y=y) {soft_label=true}
    mean(X=y) -> (Out=loss)
  )"),
            "fill_constant() -> (Out=loss@GRAD)\n"
            "mean_grad(Out@GRAD=loss@GRAD, X=y) -> (X@GRAD=y@GRAD)\n"
            "cross_entropy_grad(Label=q, X=p, Y@GRAD=y@GRAD) -> (X@GRAD=p@GRAD)\n"
            "softmax_grad(Out=p, Out@GRAD=p@GRAD) -> (X@GRAD=w@GRAD)\n");
}

TEST(Backward, GoesNoFurtherThanIsWanted) {
  BackwardOptions options;
  options.no_gradient = {"v"};
  EXPECT_EQ(BackwardOfMean("b", R"(
    tanh(X=v) -> (Out=a)
    elementwise_mul(X=a, Y=w) -> (Out=b)
  )",
                           options),
            "elementwise_mul_grad(Out@GRAD=b@GRAD, X=a, Y=w) -> (X@GRAD=a@GRAD, Y@GRAD=w@GRAD)\n");
}

TEST(Backward, AGradientHoldsRowsWhereItsVariableDoes) {
  Program program = ProgramFromText(R"(
    var rows selected_rows f32[9,2] persistable
    var a f32[9,2]
    var loss f32[1]
    scale(X=rows) -> (Out=a) {scale=2.0}
    mean(X=a) -> (Out=loss)
  )");
  ASSERT_TRUE(AppendBackward(&program, "loss").ok());
  EXPECT_EQ(PrintVar(*program.Find(program.block(0), "rows@GRAD")->desc()),
            "var rows@GRAD selected_rows f32[9,2]");
}

// The ops of all blocks after the forward part's, a line each.
std::string OpsOfBlocks(const Program& program) {
  std::string text;
  for (int b = 2; b < program.block_count(); ++b) {
    absl::StrAppend(&text, "block ", b, " parent=", program.block(b).parent()->index(),
                    " forward=", program.block(b).forward()->index(), "\n");
    for (const Op& op : program.block(b).ops()) absl::StrAppend(&text, PrintOp(op.desc()), "\n");
  }
  return text;
}

// b, of two elements as w, is what `ops` make of it in a block that runs where c holds.
std::string Conditional(absl::string_view ops, absl::string_view scope,
                        absl::string_view before = "") {
  return absl::StrCat(R"(program
    block 0 {
      var w f32[2] persistable
      var c bool[1]
      var s step_scopes
      var b f32[2]
      var loss f32[1]
      )",
                      before, R"(
      conditional_block(Cond=c, Input=w) -> (Out=b, )",
                      scope, R"() {sub_block=block(1)}
      mean(X=b) -> (Out=loss)
    }
    block 1 parent=0 {
      var t f32[2]
      )",
                      ops, "\n}\n");
}

// h begins with w, and is what the ops make of it as long as i is below n.
std::string Loop(absl::string_view ops) {
  return absl::StrCat(R"(program
    block 0 {
      var w f32[2] persistable
      var h f32[2]
      var i i64[1]
      var n i64[1]
      var c bool[1]
      var s step_scopes
      var loss f32[1]
      scale(X=w) -> (Out=h) {scale=2.0}
      while(X=[h, w, i, n], Condition=c) -> (Out=[h, i, c], StepScopes=s) {sub_block=block(1)}
      mean(X=h) -> (Out=loss)
    }
    block 1 parent=0 {
      var t f32[2]
      )",
                      ops, R"(
      increment(X=i) -> (Out=i)
      less_than(X=i, Y=n) -> (Out=c)
    }
  )");
}

TEST(Backward, ALoopCarriesGradientsFromRunToRun) {
  Program program = ProgramFromText(Loop(R"(
    elementwise_mul(X=h, Y=w) -> (Out=t)
    assign(X=t) -> (Out=h))"));
  const auto parameters = AppendBackward(&program, "loss");
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  EXPECT_EQ(TrainingOps(program),
            "fill_constant() -> (Out=loss@GRAD)\n"
            "mean_grad(Out@GRAD=loss@GRAD, X=h) -> (X@GRAD=h@GRAD)\n"
            "while_grad(Out=[h, i, c], Out@GRAD=h@GRAD, StepScopes=s, X=[h, w, i, n]) -> "
            "(X@GRAD=[h@GRAD, w@GRAD@RENAME@block0@0, @EMPTY@, @EMPTY@])\n"
            "scale(ScaleTensor=[], X=h@GRAD) -> (Out=w@GRAD@RENAME@block0@1)\n"
            "sum(X=[w@GRAD@RENAME@block0@0, w@GRAD@RENAME@block0@1]) -> (Out=w@GRAD)\n");
  EXPECT_EQ(OpsOfBlocks(program),
            "block 2 parent=0 forward=1\n"
            "assign(X=h@GRAD) -> (Out=t@GRAD) {op_role=1}\n"
            "elementwise_mul_grad(Out@GRAD=t@GRAD, X=h, Y=w) -> (X@GRAD=h@GRAD, Y@GRAD=w@GRAD) "
            "{op_role=1}\n");
  // A gradient of the block is its own, whatever block 0 calls so.
  EXPECT_EQ(&program.Find(program.block(2), "w@GRAD")->block(), &program.block(2));
}

struct Refusal {
  const char* name;
  std::string program;
  const char* error;
};

class BackwardRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(BackwardRefuses, AndLeavesTheProgramAsItWas) {
  Program program = ProgramFromText(GetParam().program);
  const std::string before = PrintProgram(program.Proto());
  const absl::Status status = AppendBackward(&program, "loss").status();
  EXPECT_EQ(status.ToString(), GetParam().error);
  EXPECT_EQ(PrintProgram(program.Proto()), before);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BackwardRefuses,
    testing::Values(
        Refusal{"AnUndeclaredLoss", "var x f32[1]",
                "INVALID_ARGUMENT: p: block 0 declares no loss \"loss\""},
        Refusal{"ALossThatNoOpWrites", "var loss f32[1]",
                "INVALID_ARGUMENT: p: no op of block 0 writes the loss \"loss\""},
        Refusal{"ALossOfManyElements", R"(
          var w f32[2] persistable
          var loss f32[2]
          relu(X=w) -> (Out=loss)
        )",
                "INVALID_ARGUMENT: p: the loss \"loss\" has shape [2]; want one element, the mean "
                "for example"},
        Refusal{"ALossWithoutParameters", R"(
          var x f32[2] need_check_feed
          var loss f32[1]
          mean(X=x) -> (Out=loss)
        )",
                "INVALID_ARGUMENT: p: \"loss\" depends on no parameter that is trained"},
        Refusal{"ATrainingProgram", R"(
          var w f32[2] persistable
          var loss f32[1]
          mean(X=w) -> (Out=loss)
          fill_constant() -> (Out=loss@GRAD) {shape=[1L], op_role=257}
        )",
                "INVALID_ARGUMENT: p: block 0, op 1 (fill_constant) computes gradients already; "
                "want the forward program"},
        Refusal{"ANameThatIsTaken", MeanOf("w", "var w@GRAD f32[2]"),
                "INVALID_ARGUMENT: p: \"w@GRAD\" is there already; want the forward program"},
        Refusal{"ALossWhoseGradientIsTaken", MeanOf("w", "var loss@GRAD f32[1]"),
                "INVALID_ARGUMENT: p: \"loss@GRAD\" is there already; want the forward program"},
        Refusal{"AnOpOfUnknownType", MeanOf("a", "users_op(X=w) -> (Out=a)"),
                "UNIMPLEMENTED: p: block 0, op 0 (users_op): the gradient of \"loss\" would have "
                "to pass an op of a type that is not known"},
        Refusal{"AnOutputThatIsOverwrittenInPlace", MeanOf("a", R"(
          tanh(X=w) -> (Out=a)
          scale(X=a) -> (Out=a) {scale=2.0}
        )"),
                "UNIMPLEMENTED: p: block 0, op 0 (tanh): the gradient of \"loss\" would have to "
                "read \"a\" as it was here, and it is written again"},
        Refusal{"AFactorThatIsOverwritten", MeanOf("b", R"(
          var factor f32[1] stop_gradient
          elementwise_mul(X=w, Y=factor) -> (Out=b)
          increment(X=factor) -> (Out=factor)
        )"),
                "UNIMPLEMENTED: p: block 0, op 0 (elementwise_mul): the gradient of \"loss\" would "
                "have to read \"factor\" as it was here, and it is written again"},
        Refusal{
            "ABlockThatWritesWithoutSayingSo", R"(program
          block 0 {
            var w f32[1] persistable
            var c bool[1]
            var a f32[1]
            var loss f32[1]
            scale(X=w) -> (Out=a)
            conditional_block(Cond=c, Input=w) -> (Out=[], Scope=[]) {sub_block=block(1)}
            mean(X=a) -> (Out=loss)
          }
          block 1 parent=0 {
            scale(X=w) -> (Out=a) {scale=2.0}
          }
        )",
            "UNIMPLEMENTED: p: block 0, op 1 (conditional_block): the gradient of \"loss\" would "
            "have to pass \"a\", which the op's block writes and the op does not list as an "
            "output"},
        Refusal{"ABlockThatKeepsNoRuns", Conditional("scale(X=w) -> (Out=b)", "Scope=[]"),
                "UNIMPLEMENTED: p: block 0, op 0 (conditional_block): the gradient of \"loss\" "
                "would have to pass an op that does not keep its block's runs; want a variable for "
                "them"},
        Refusal{"AValueThatABlockMayKeep",
                Conditional("scale(X=w) -> (Out=b)", "Scope=s", "scale(X=w) -> (Out=b)"),
                "UNIMPLEMENTED: p: block 0, op 1 (conditional_block): the gradient of \"loss\" "
                "would have to pass \"b\", which keeps its value where the block does not run"},
        Refusal{"ABlockThatReadsWhatItHasWritten",
                Conditional("scale(X=w) -> (Out=b)\ntanh(X=b) -> (Out=t)\nrelu(X=t) -> (Out=b)",
                            "Scope=s"),
                "UNIMPLEMENTED: p: block 1, op 1 (tanh): the gradient of \"loss\" would have to "
                "pass \"b\", which the block has written before and which is not its own"},
        Refusal{"ALoopOfWhichOnlyTheLastRunCounts", Loop("scale(X=w) -> (Out=h)"),
                "UNIMPLEMENTED: p: block 0, op 1 (while): the gradient of \"loss\" would have to "
                "pass \"h\", which the block writes and does not read before, so that only its "
                "last run counts"},
        Refusal{"AnUndeclaredOutput", R"(
          var w f32[2,2] persistable
          var b f32[2,1]
          var loss f32[1]
          split(X=w) -> (Out=[a, b]) {num=2, axis=1}
          mean(X=b) -> (Out=loss)
        )",
                "INVALID_ARGUMENT: p: no block declares \"a\", whose gradient concat reads"},
        Refusal{"AValueThatIsOverwritten", MeanOf("c", R"(
          tanh(X=w) -> (Out=a)
          tanh(X=a) -> (Out=b)
          tanh(X=b) -> (Out=a)
          elementwise_add(X=a, Y=b) -> (Out=c)
        )"),
                "UNIMPLEMENTED: p: block 0, op 1 (tanh): the gradient of \"loss\" would have to "
                "pass \"a\", which is written again after the op read it"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fixpoint
