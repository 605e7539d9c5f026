// Ops that run blocks.

#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

// Doubles x as long as the counter is below 3.
constexpr char kLoop[] = R"(program
block 0 {
  var x f32[1]
  var i i64[1]
  var end i64[1]
  var goes_on bool[1]
  less_than(X=i, Y=end) -> (Out=goes_on)
  while(X=[x, i, end], Condition=goes_on) -> (Out=[x, i, goes_on], StepScopes=[]) {
    sub_block=block(1)}
}
block 1 parent=0 {
  var twice f32[1]
  scale(X=x) -> (Out=twice) {scale=2.0}
  assign(X=twice) -> (Out=x)
  increment(X=i) -> (Out=i)
  less_than(X=i, Y=end) -> (Out=goes_on)
}
)";

TEST(While, RunsItsBlockAsLongAsTheConditionHolds) {
  EXPECT_EQ(RunOps(kLoop, "x f32[1] 5\ni i64[1] 0\nend i64[1] 3\n"),
            "goes_on bool[1] 0\ni i64[1] 3\nx f32[1] 40\n");
  EXPECT_EQ(RunOps(kLoop, "x f32[1] 5\ni i64[1] 3\nend i64[1] 3\n"),
            "goes_on bool[1] 0\ni i64[1] 3\nx f32[1] 5\n");
}

TEST(While, AnErrorNamesBothOps) {
  EXPECT_EQ(RunOps(R"(program
block 0 {
  var goes_on bool[1]
  while(X=[], Condition=goes_on) -> (Out=[], StepScopes=[]) {sub_block=block(1)}
}
block 1 parent=0 {
  var inner f32[1]
  relu(X=inner) -> (Out=inner)
}
)",
                   "goes_on bool[1] 1\ninner f32[1] 1\n"),
            "block 0, op 0 (while): block 1, op 0 (relu): input X reads \"inner\", which has no "
            "value; want it fed, initialised by the startup program, or written by an op before");
}

// y is written where the condition holds.
std::string Conditional(const std::string& attrs, const std::string& inputs) {
  return RunOps(R"(program
block 0 {
  var c bool[1]
  var x f32[1]
  var y f32[1]
  assign(X=x) -> (Out=y)
  conditional_block(Cond=c, Input=x) -> (Out=y, Scope=[]) {sub_block=block(1), )" +
                    attrs + R"(}
}
block 1 parent=0 {
  scale(X=x) -> (Out=y) {scale=2.0}
}
)",
                inputs);
}

TEST(ConditionalBlock, RunsWhereItsConditionHolds) {
  EXPECT_EQ(Conditional("is_scalar_condition=true", "c bool[1] 1\nx f32[1] 3\n"), "y f32[1] 6\n");
  EXPECT_EQ(Conditional("is_scalar_condition=true", "c bool[1] 0\nx f32[1] 3\n"), "y f32[1] 3\n");
}

TEST(ConditionalBlock, OrWhereNoConditionIsEmpty) {
  EXPECT_EQ(Conditional("is_scalar_condition=false", "c bool[1] 0\nx f32[1] 3\n"), "y f32[1] 6\n");
  EXPECT_EQ(Conditional("is_scalar_condition=false", "c bool[0]\nx f32[1] 3\n"), "y f32[1] 3\n");
  EXPECT_EQ(
      Conditional("is_scalar_condition=false", "x f32[1] 3\n"),
      "block 0, op 1 (conditional_block): Cond holds a variable without a value; want each fed "
      "or written by an op before");
}

}  // namespace
}  // namespace fixpoint::reference
