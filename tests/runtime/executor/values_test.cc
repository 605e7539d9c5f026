// A value does not depend on the memory that holds it: persistable variables are read as they were
// until they are written, and nothing is written over a value that is still read.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// A program in which the variables `persistable` are persistable.
std::string Persistent(const std::string& declarations, const std::string& ops) {
  return absl::StrCat("program version=2006002\nblock 0 {\n", declarations, ops, "}\n");
}

TEST(Values, OfAProductAreNotWrittenOverItsFactor) {
  EXPECT_EQ(OpDifferences(Persistent("var h f32[2,2] persistable\n", "mul(X=h, Y=w) -> (Out=h)\n"),
                          "h f32[2,2] 1 2 3 4\nw f32[2,2] 5 6 7 8\n", 0),
            "");
}

TEST(Values, OfAConvolutionAreNotWrittenOverItsImages) {
  EXPECT_EQ(OpDifferences(Persistent("var h f32[1,1,3,3] persistable\n",
                                     "conv2d(Input=h, Filter=w) -> (Output=h) {paddings=[1, 1]}\n"),
                          "h f32[1,1,3,3] 1 2 3 4 5 6 7 8 9\n"
                          "w f32[1,1,3,3] 9 8 7 6 5 4 3 2 1\n",
                          0),
            "");
}

TEST(Values, AreReadAsTheyWereBeforeAWrite) {
  EXPECT_EQ(OpDifferences(Persistent("var w f32[2] persistable\n", R"(
                reshape2(X=w) -> (Out=view, XShape=shape) {shape=[2, 1]}
                scale(X=w) -> (Out=w) {scale=10.0}
                scale(X=view) -> (Out=doubled) {scale=2.0}
                scale(X=w) -> (Out=w) {bias=1.0}
              )"),
                          "w f32[2] 1 2\n", 0, {"doubled", "view", "w"}),
            "");
}

TEST(Values, OfTwoVariablesChangePlaces) {
  EXPECT_EQ(OpDifferences(Persistent("var a f32[1] persistable\nvar b f32[1] persistable\n", R"(
                assign(X=a) -> (Out=c)
                assign(X=b) -> (Out=a)
                assign(X=c) -> (Out=b)
              )"),
                          "a f32[1] 1\nb f32[1] 2\n", 0, {"a", "b"}),
            "");
}

// A relu that the step of the op before it does is written before its turn comes.
TEST(Values, ThatStayAreTheProgramsLastNotThePlans) {
  const char* const normalized =
      "batch_norm(X=x, Scale=row, Bias=row, Mean=row, Variance=row) -> (\n"
      "  Y=t, MeanOut=m, VarianceOut=n, SavedMean=sm, SavedVariance=sn)\n";
  for (const char* before_relu : {"mul(X=x, Y=w) -> (Out=t)\n", normalized}) {
    EXPECT_EQ(OpDifferences(Persistent("var v f32[2,2] persistable\n", absl::StrCat(before_relu, R"(
                  assign(X=a) -> (Out=v)
                  scale(X=v) -> (Out=z)
                  relu(X=t) -> (Out=v)
                )")),
                            "x f32[2,2] 1 2 3 5\nw f32[2,2] 1 0 0 1\na f32[2,2] 9 9 9 9\n"
                            "row f32[2] 1 1\n",
                            1e-5, {"z"}),
              "");
  }
}

TEST(Values, ThatABlockWritesAreItsLastNotThePlans) {
  EXPECT_EQ(
      OpDifferences(R"(program version=2006002
      block 0 {
        var v f32[2,2]
        var u f32[2,2]
        conditional_block(Cond=c, Input=[x, w, a]) -> (Out=[v, u], Scope=[]) {
          sub_block=block(1), is_scalar_condition=true}
        scale(X=v) -> (Out=y)
        scale(X=u) -> (Out=z)
      }
      block 1 parent=0 {
        var t f32[2,2]
        mul(X=x, Y=w) -> (Out=t)
        scale(X=a) -> (Out=v)
        scale(X=v) -> (Out=u) {scale=2.0}
        relu(X=t) -> (Out=v)
      })",
                    "x f32[2,2] 1 2 3 4\nw f32[2,2] 1 0 0 1\na f32[2,2] 9 9 9 9\nc bool[1] 1\n"
                    "v f32[2,2] 0 0 0 0\nu f32[2,2] 0 0 0 0\n",
                    0, {"y", "z"}),
      "");
}

// Also where the op that writes the variable has no step of its own.
TEST(Values, ThatStayAreOfTheTypeThatTheScopeHolds) {
  const Program program = ParsedProgram(Persistent("var v f32[-1,-1] persistable\n",
                                                   "mul(X=x, Y=w) -> (Out=t)\n"
                                                   "relu(X=t) -> (Out=v)\n"));
  Scope scope =
      *ParseParameters("x f32[2,2] 1 2 3 4\nw f32[2,2] 1 0 0 1\nv f32[1,2] 1 1\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok());
  EXPECT_EQ(
      (*executor)->Run({}, {}, 0).status(),
      absl::InvalidArgumentError("variable \"v\" is written as [2, 2] and held [1, 2] before; "
                                 "want the same type"));
}

// A variable that the scope lacks may be written as other types before.
TEST(Values, ThatAreNewAreOfTheirLastType) {
  EXPECT_EQ(OpDifferences(Persistent("var v f32[-1] persistable\n", R"(
                assign(X=a) -> (Out=v)
                scale(X=v) -> (Out=z) {scale=2.0}
                assign(X=b) -> (Out=v)
              )"),
                          "a f32[2] 1 2\nb f32[3] 1 2 3\n", 0, {"z"}),
            "");
}

TEST(Values, ThatCodesStandForAreThoseOfTheirScaleThen) {
  EXPECT_EQ(OpDifferences(Persistent("var w i8[2] persistable\nvar s f32[1] persistable\n", R"(
                dequantize_linear(X=w, Scale=s, ZeroPoint=zero) -> (Y=y) {quant_axis=-1, bit_length=8}
                increment(X=s) -> (Out=s) {step=100.0}
                scale(X=y) -> (Out=z)
              )"),
                          "w i8[2] 1 127\ns f32[1] 1\nzero f32[1] 0\n", 1e-6, {"z", "s"}),
            "");
}

TEST(Values, ThatAreFedAreThoseOfAVariableThatLivesOn) {
  const Program program = ParsedProgram(Persistent("var w f32[1] persistable\n",
                                                   "scale(X=w) -> (Out=a) {scale=2.0}\n"
                                                   "increment(X=w) -> (Out=w) {step=1.0}\n"));
  Scope scope = *ParseParameters("w f32[1] 1\n", "scope");
  const Scope fed = *ParseParameters("w f32[1] 10\n", "feeds");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok());
  const auto run = (*executor)->Run({{"w", &std::get<Tensor>(*fed.FindOrNull("w"))}}, {"a"}, 0);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ((*run)[0].data<float>()[0], 20);
  EXPECT_EQ(PrintParameters(scope), "w f32[1] 11\n");
}

// Rows have no layout but one.
TEST(Values, OfRowsAreNormalizedAndJoined) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        batch_norm(X=x, Scale=s, Bias=b, Mean=m, Variance=v) -> (
          Y=y, MeanOut=m2, VarianceOut=v2, SavedMean=sm, SavedVariance=sv, ReserveSpace=r)
        relu(X=y) -> (Out=z)
        concat(X=[z, x]) -> (Out=joined) {axis=1}
        split(X=y) -> (Out=[left, right]) {axis=1, num=2}
        transpose2(X=z) -> (Out=turned, XShape=t) {axis=[1, 0]}
      })",
                          "x f32[3,2] 1 2 3 4 6 9\ns f32[2] 1 2\nb f32[2] 0 -1\n"
                          "m f32[2] 0 0\nv f32[2] 1 1\n",
                          1e-5, {"joined", "left", "right", "turned"}),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
