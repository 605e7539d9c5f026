// Quantizers with a zero point, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(AffineQuantizer, FollowsBothEndsOfTheRange) {
  for (const char* attributes :
       {"bit_length=8, unsigned_codes=true", "bit_length=4, round_type=1"}) {
    EXPECT_EQ(
        OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        var s f32[1] persistable
        var z f32[1] persistable
        var n f32[1] persistable
        var low f32[1] persistable
        var high f32[1] persistable
        fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z, InState=n, InAccumMin=low, InAccumMax=high) -> (
          Out=q, OutScale=s, OutZeroPoint=z, OutState=n, OutAccumMin=low, OutAccumMax=high) {)",
                                   attributes, R"(}
        fake_dequantize_affine(X=q, Scale=s, ZeroPoint=z) -> (Out=d)
      })"),
                      Drawn("x", {3, 10}) +
                          "s f32[1] 1\nz f32[1] 0\nn f32[1] 1\nlow f32[1] -2\nhigh f32[1] 0\n"),
        "");
  }
}

// The range is more than a float holds.
TEST(AffineQuantizer, HasAStepForTheLargestNumbers) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z, InState=n, InAccumMin=z, InAccumMax=z) -> (
          Out=q, OutScale=step, OutZeroPoint=zero, OutState=count, OutAccumMin=low, OutAccumMax=high) {bit_length=8}
        fake_dequantize_affine(X=q, Scale=step, ZeroPoint=zero) -> (Out=d)
      })",
                          "x f32[3] -3e38 1e38 3e38\ns f32[1] 1\nz f32[1] 0\nn f32[1] 0\n", 0),
            "");
}

TEST(AffineQuantizer, GoesByTheStepThatItHasInTestMode) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var s f32[1] persistable
        var z f32[1] persistable
        fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z) -> (
          Out=q, OutScale=s, OutZeroPoint=z) {bit_length=8, is_test=true}
        fake_dequantize_affine(X=q, Scale=s, ZeroPoint=z) -> (Out=d)
      })",
                          Drawn("x", {3, 10}) + "s f32[1] 0.5\nz f32[1] 3\n"),
            "");
}

// An optimizer has moved the step by the time that the gradients of the product read what the codes
// stood for. Codes of 12 bits are not held.
TEST(AffineQuantizer, KeepsItsCodesWhenATrainedStepMoves) {
  for (const char* surrogate : {"clamp_then_round", "round_then_clamp", "clamp"}) {
    for (const char* codes :
         {"bit_length=4, unsigned_codes=true, round_type=0", "bit_length=12, round_type=1"}) {
      const std::string attrs = absl::StrCat("{", codes, ", surrogate=\"", surrogate, "\"}");
      EXPECT_EQ(OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        var s f32[1] persistable
        var z f32[1] persistable
        fake_quantize_dequantize_affine(X=x, InScale=s, InZeroPoint=z) -> (Out=xd) )",
                                           attrs, R"(
        mul(X=xd, Y=w) -> (Out=y)
        mul_grad(X=xd, Y=w, Out@GRAD=dy) -> (X@GRAD=dxd, Y@GRAD=dw)
        fake_quantize_dequantize_affine_grad(X=x, InScale=s, InZeroPoint=z, Out@GRAD=dxd) -> (
          X@GRAD=dx, InScale@GRAD=ds, InZeroPoint@GRAD=dz) )",
                                           attrs, R"(
        scale(X=s) -> (Out=s) {scale=0.5}
        scale(X=z) -> (Out=z) {bias=1.0}
      })"),
                              Drawn("x", {3, 10}) + Drawn("w", {10, 4}) + Drawn("dy", {3, 4}) +
                                  "s f32[1] 0.1\nz f32[1] 5\n",
                              1e-5, {"y", "dx", "dw", "ds", "dz"}),
                "")
          << attrs;
    }
  }
}

// A parameter file may hold anything.
TEST(AffineQuantizer, RefusesAZeroPointThatIsNoCode) {
  for (const char* zero_point : {"nan", "256", "-1", "3.5"}) {
    EXPECT_THAT(
        OpDifferences(R"(program version=2006002
      block 0 {
        fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z) -> (
          Out=q, OutScale=s2, OutZeroPoint=z2) {unsigned_codes=true, is_test=true}
      })",
                      absl::StrCat("x f32[2] 1 2\ns f32[1] 0.5\nz f32[1] ", zero_point, "\n")),
        testing::AllOf(testing::HasSubstr("executor"), testing::HasSubstr("interpreter"),
                       testing::HasSubstr(absl::StrCat("the zero point is ", zero_point,
                                                       "; want a code, 0 to 255"))))
        << zero_point;
  }
}

}  // namespace
}  // namespace fixpoint::executor
