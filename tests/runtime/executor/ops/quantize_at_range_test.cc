// Quantization at ranges that other ops give, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

// An optimizer has moved the range by the time that the gradients of the product read what the
// codes stood for.
TEST(QuantizeAtRange, KeepsItsCodesWhenTheRangeMoves) {
  for (const char* surrogate : {"clamp_then_round", "round_then_clamp", "clamp"}) {
    for (const char* round_type : {"0", "1"}) {
      const std::string attrs =
          absl::StrCat("round_type=", round_type, ", surrogate=\"", surrogate, "\"");
      EXPECT_EQ(OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        var xr f32[1] persistable
        var wr f32[4] persistable
        fake_quantize_dequantize_at_range(X=x, InScale=xr) -> (Out=xd) {bit_length=4, )",
                                           attrs, R"(}
        fake_quantize_dequantize_at_range(X=w, InScale=wr) -> (Out=wd) {
          bit_length=3, quant_axis=1, )",
                                           attrs, R"(}
        mul(X=xd, Y=wd) -> (Out=y)
        mul_grad(X=xd, Y=wd, Out@GRAD=dy) -> (X@GRAD=dxd, Y@GRAD=dwd)
        fake_quantize_dequantize_at_range_grad(X=x, InScale=xr, Out@GRAD=dxd) -> (
          X@GRAD=dx, InScale@GRAD=dxr) {bit_length=4, )",
                                           attrs, R"(}
        fake_quantize_dequantize_at_range_grad(X=w, InScale=wr, Out@GRAD=dwd) -> (
          X@GRAD=dw, InScale@GRAD=dwr) {bit_length=3, quant_axis=1, )",
                                           attrs, R"(}
        scale(X=xr) -> (Out=xr) {scale=0.5}
      })"),
                              Drawn("x", {3, 10}) + Drawn("w", {10, 4}) + Drawn("dy", {3, 4}) +
                                  "xr f32[1] 0.7\nwr f32[4] 0.9 1 0 0.5\n",
                              1e-5, {"y", "dx", "dw", "dxr", "dwr"}),
                "")
          << attrs;
    }
  }
}

// The reference has no such op, in 1.x either.
TEST(QuantizeAtRange, GivesTheSameNumbersInProgramsOf1x) {
  EXPECT_EQ(OpDifferences(R"(program version=1008005
      block 0 {
        fake_quantize_dequantize_at_range(X=x, InScale=xr) -> (Out=xd) {bit_length=8, round_type=0}
        fake_quantize_dequantize_at_range(X=w, InScale=wr) -> (Out=wd) {
          bit_length=8, quant_axis=1, round_type=0}
      })",
                          Drawn("x", {3, 10}) + Drawn("w", {10, 4}) +
                              "xr f32[1] 0.7\nwr f32[4] 0.9 1.1 0.3 0.5\n",
                          0, {"xd", "wd"}),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
