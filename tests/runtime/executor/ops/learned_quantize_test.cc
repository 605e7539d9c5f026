// Quantizers whose range is trained, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

// The first step finds the ranges, the next ones go by them, and an optimizer has moved them by the
// time that the gradients of the product read what the codes stood for.
TEST(LearnedRange, IsFoundAndMovesAfterItsCodes) {
  for (const char* round_type : {"0", "1"}) {
    EXPECT_EQ(
        OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        var xr f32[1] persistable
        var xi f32[1] persistable
        var wr f32[4] persistable
        var wi f32[4] persistable
        fake_quantize_dequantize_lsq(X=x, InScale=xr, InInitialized=xi) -> (
          Out=xd, OutScale=xr, OutInitialized=xi) {bit_length=4, round_type=)",
                                   round_type, R"(}
        fake_channel_wise_quantize_dequantize_lsq(X=w, InScale=wr, InInitialized=wi) -> (
          Out=wd, OutScale=wr, OutInitialized=wi) {bit_length=3, quant_axis=1, round_type=)",
                                   round_type, R"(}
        mul(X=xd, Y=wd) -> (Out=y)
        scale(X=xr) -> (Out=xr) {scale=0.5}
        mul_grad(X=xd, Y=wd, Out@GRAD=dy) -> (X@GRAD=dxd, Y@GRAD=dwd)
        fake_quantize_dequantize_lsq_grad(X=x, OutScale=xr, Out@GRAD=dxd) -> (
          X@GRAD=dx, InScale@GRAD=dxr) {bit_length=4, per_sample=true, round_type=)",
                                   round_type, R"(}
        fake_channel_wise_quantize_dequantize_lsq_grad(X=w, OutScale=wr, Out@GRAD=dwd) -> (
          X@GRAD=dw, InScale@GRAD=dwr) {bit_length=3, quant_axis=1, round_type=)",
                                   round_type, R"(}
      })"),
                      Drawn("x", {3, 10}) + Drawn("w", {10, 4}) + Drawn("dy", {3, 4}) +
                          "xr f32[1] 0\nxi f32[1] 0\nwr f32[4] 0 1 0 0.5\nwi f32[4] 0 1 0 1\n",
                      1e-5, {"y", "dx", "dw", "dxr", "dwr"}),
        "");
  }
}

// The reference has no such op, in 1.x either.
TEST(LearnedRange, GivesTheSameNumbersInProgramsOf1x) {
  EXPECT_EQ(OpDifferences(R"(program version=1008005
      block 0 {
        fake_quantize_dequantize_lsq(X=x, InScale=xr, InInitialized=xi) -> (
          Out=xd, OutScale=xr, OutInitialized=xi) {bit_length=8, round_type=0, is_test=true}
        fake_channel_wise_quantize_dequantize_lsq(X=w, InScale=wr, InInitialized=wi) -> (
          Out=wd, OutScale=wr, OutInitialized=wi) {
          bit_length=8, quant_axis=1, round_type=0, is_test=true}
      })",
                          Drawn("x", {3, 10}) + Drawn("w", {10, 4}) +
                              "xr f32[1] 0.7\nxi f32[1] 1\nwr f32[4] 0.9 1.1 0.3 0.5\n"
                              "wi f32[4] 1 1 1 1\n",
                          0, {"xd", "wd"}),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
