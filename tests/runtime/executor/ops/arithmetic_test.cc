// Sums and scales on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include <string>

#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// The gradients of the three uses of h are one buffer.
TEST(Sum, OfOneGradientThreeTimes) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        scale(X=x) -> (Out=h) {scale=2.0}
        elementwise_add(X=h, Y=h) -> (Out=a)
        elementwise_add(X=a, Y=h) -> (Out=b)
        scale(X=b) -> (Out=db) {scale=0.5}
        elementwise_add_grad(X=a, Y=h, Out@GRAD=db) -> (X@GRAD=da, Y@GRAD=dh0)
        elementwise_add_grad(X=h, Y=h, Out@GRAD=da) -> (X@GRAD=dh1, Y@GRAD=dh2)
        sum(X=[dh0, dh1, dh2]) -> (Out=dh)
      })",
                          "x f32[3] 1 2 3\n", 0, {"dh"}),
            "");
}

// The output may be any of the terms.
TEST(Sum, IntoOneOfItsTerms) {
  for (const std::string terms : {"[acc, a, b]", "[a, acc, b]", "[a, b, acc]", "[acc, a, acc]"}) {
    EXPECT_EQ(OpDifferences("program version=2006002\nblock 0 {\n  var acc f32[3] persistable\n"
                            "  sum(X=" +
                                terms + ") -> (Out=acc)\n}\n",
                            "a f32[3] 1 2 3\nb f32[3] 10 20 30\nacc f32[3] 100 200 300\n", 0),
              "")
        << terms;
  }
}

// The sum is written into its tensor, without a copy.
TEST(Sum, LiesInOneOfItsTerms) {
  const Program program = ParsedProgram(
      "program version=2006002\nblock 0 {\n  var acc f32[3] persistable\n"
      "  sum(X=[a, acc, b]) -> (Out=acc)\n}\n");
  Scope scope =
      *ParseParameters("a f32[3] 1 2 3\nb f32[3] 10 20 30\nacc f32[3] 100 200 300\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto plan = (*executor)->PlanOf({}, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ((*plan)->steps.size(), 1u);
}

// An attribute is first converted to the tensor's type, and the result is the nearest value that
// the type holds.
TEST(Integers, AreScaledCountedAndAdded) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        scale(X=i) -> (Out=a) {scale=1.5, bias=2.5}
        scale(X=i) -> (Out=b) {scale=2.5, bias=1.5, bias_after_scale=false}
        scale(X=c) -> (Out=d) {scale=100.0}
        increment(X=i) -> (Out=e) {step=1.5}
        increment(X=c) -> (Out=f) {step=127.0}
        sum(X=[i, i, i]) -> (Out=g)
        sum(X=[c, c]) -> (Out=h)
      })",
                          "i i64[4] -3 -1 0 5\nc i8[3] -100 0 100\n", 0),
            "");
}

TEST(Cast, GivesTheNearestThatTheTypeHolds) {
  EXPECT_EQ(
      OpDifferences(R"(program version=2006002
      block 0 {
        cast(X=x) -> (Out=i32) {in_dtype=5, out_dtype=2}
        cast(X=x) -> (Out=i64) {in_dtype=5, out_dtype=3}
        cast(X=x) -> (Out=i8) {in_dtype=5, out_dtype=21}
        cast(X=x) -> (Out=u8) {in_dtype=5, out_dtype=20}
        cast(X=x) -> (Out=bool) {in_dtype=5, out_dtype=0}
        cast(X=i) -> (Out=narrow) {in_dtype=3, out_dtype=20}
      })",
                    "x f32[8] nan inf -inf -1.5 0.5 300 -3e10 3e10\ni i64[3] -5 200 1000\n", 0),
      "");
}

// Codes of weights.
TEST(Cast, OfIntegersOf16BitsGivesFloats) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        cast(X=x) -> (Out=y) {in_dtype=1, out_dtype=5}
      })",
                          "x i16[4] -32768 -1 0 32767\n", 0),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
