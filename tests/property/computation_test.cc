// The oracle of the property test, on programs that were rewritten by hand, correctly and
// incorrectly.

#include "tests/property/computation.h"

#include <gtest/gtest.h>

#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

bool ComputeTheSame(absl::string_view before, absl::string_view after) {
  return Compute(ParsedProgram(before).Proto()) == Compute(ParsedProgram(after).Proto());
}

constexpr char kInPlace[] = R"(
  mul(X=x, Y=w) -> (Out=a)
  scale(X=x) -> (Out=x)
  mul(X=x, Y=w) -> (Out=b)
)";

TEST(Compute, PassesOverWhatSimulatesQuantization) {
  EXPECT_TRUE(ComputeTheSame(kInPlace, R"(
    fake_quantize_abs_max(X=x) -> (Out=x.q, OutScale=s) {fixpoint.inserted_by="p"}
    fake_dequantize_max_abs(X=x.q, Scale=s) -> (Out=x.qd) {fixpoint.inserted_by="p"}
    mul(X=x.qd, Y=w) -> (Out=a) {fixpoint.rewired=["X.0=x"]}
    scale(X=x) -> (Out=x)
    mul(X=x, Y=w) -> (Out=b)
  )"));
}

TEST(Compute, SeesAStaleRead) {
  EXPECT_FALSE(ComputeTheSame(kInPlace, R"(
    fake_quantize_dequantize_abs_max(X=x) -> (Out=x.qd, OutScale=s) {fixpoint.inserted_by="p"}
    mul(X=x.qd, Y=w) -> (Out=a)
    scale(X=x) -> (Out=x)
    mul(X=x.qd, Y=w) -> (Out=b)
  )"));
}

TEST(Compute, SeesAReadBeforeTheWrite) {
  EXPECT_FALSE(ComputeTheSame(kInPlace, R"(
    mul(X=x.qd, Y=w) -> (Out=a)
    fake_quantize_dequantize_abs_max(X=x) -> (Out=x.qd, OutScale=s) {fixpoint.inserted_by="p"}
    scale(X=x) -> (Out=x)
    mul(X=x, Y=w) -> (Out=b)
  )"));
}

TEST(Compute, SeesAnAttributeAnOutputAndAMissingOp) {
  EXPECT_FALSE(ComputeTheSame("relu(X=x) -> (Out=y) {a=1}", "relu(X=x) -> (Out=y) {a=2}"));
  EXPECT_FALSE(ComputeTheSame("relu(X=x) -> (Out=y)", "relu(X=x) -> (Out=z)"));
  EXPECT_FALSE(ComputeTheSame(kInPlace, "mul(X=x, Y=w) -> (Out=a)"));
}

TEST(Compute, ReadsInALoopWhatTheLastIterationLeft) {
  constexpr char kLoop[] = R"(
    block 0 {
      var h f32[4]
      while(X=[h], Condition=c) -> (Out=[h], StepScopes=s) {sub_block=block(1)}
    }
    block 1 parent=0 {
      relu(X=h) -> (Out=h)
    }
  )";
  // Quantized outside, the loop would read the value of before it again and again.
  EXPECT_FALSE(ComputeTheSame(kLoop, R"(
    block 0 {
      var h f32[4]
      var q f32[4]
      fake_quantize_dequantize_abs_max(X=h) -> (Out=q, OutScale=t) {fixpoint.inserted_by="p"}
      while(X=[h, q], Condition=c) -> (Out=[h], StepScopes=s) {sub_block=block(1)}
    }
    block 1 parent=0 {
      relu(X=q) -> (Out=h)
    }
  )"));
  EXPECT_TRUE(ComputeTheSame(kLoop, R"(
    block 0 {
      var h f32[4]
      while(X=[h], Condition=c) -> (Out=[h], StepScopes=s) {sub_block=block(1)}
    }
    block 1 parent=0 {
      var q f32[4]
      fake_quantize_dequantize_abs_max(X=h) -> (Out=q, OutScale=t) {fixpoint.inserted_by="p"}
      relu(X=q) -> (Out=h)
    }
  )"));
}

}  // namespace
}  // namespace fixpoint
