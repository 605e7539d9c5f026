// Resizing of images, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

// An op and its gradient.
std::string Differences(const std::string& op, const std::string& attrs,
                        const std::vector<int64_t>& x, const std::vector<int64_t>& out) {
  return OpDifferences(
      absl::StrCat("program version=2006002\nblock 0 {\n", op, "(X=x) -> (Out=y) {", attrs, "}\n",
                   op, "_grad(X=x, Out@GRAD=dy) -> (X@GRAD=dx) {", attrs, "}\n}"),
      Drawn("x", x) + Drawn("dy", out));
}

TEST(Resizing, IsThatOfTheInterpreter) {
  for (const char* corners :
       {"align_corners=true", "align_corners=false", "align_corners=false, align_mode=0"}) {
    for (const char* op : {"nearest_interp", "bilinear_interp", "bicubic_interp",
                           "nearest_interp_v2", "bilinear_interp_v2", "bicubic_interp_v2"}) {
      const std::string attrs = absl::StrCat("out_h=9, out_w=4, ", corners);
      EXPECT_EQ(Differences(op, attrs, {2, 5, 4, 7}, {2, 5, 9, 4}), "") << op << attrs;
      EXPECT_EQ(Differences(op, absl::StrCat(attrs, ", data_layout=\"NHWC\""), {2, 4, 7, 70},
                            {2, 9, 4, 70}),
                "")
          << op << attrs;
      EXPECT_EQ(
          Differences(op, absl::StrCat("out_h=4, out_w=7, ", corners), {1, 2, 4, 7}, {1, 2, 4, 7}),
          "")
          << op << attrs;
    }
    for (const char* op : {"linear_interp", "linear_interp_v2"}) {
      EXPECT_EQ(Differences(op, absl::StrCat("out_w=11, ", corners), {2, 3, 7}, {2, 3, 11}), "");
    }
    for (const char* op : {"trilinear_interp", "trilinear_interp_v2", "nearest_interp_v2"}) {
      const std::string attrs = absl::StrCat("out_d=5, out_h=2, out_w=9, ", corners);
      EXPECT_EQ(Differences(op, attrs, {2, 2, 3, 4, 5}, {2, 2, 5, 2, 9}), "") << op << attrs;
    }
  }
}

TEST(Resizing, GoesByScales) {
  EXPECT_EQ(Differences("bilinear_interp_v2", "scale=[1.7, 0.6], align_corners=false", {1, 3, 4, 8},
                        {1, 3, 6, 4}),
            "");
  EXPECT_EQ(
      Differences("nearest_interp", "scale=2.0, align_corners=false", {1, 3, 4, 8}, {1, 3, 8, 16}),
      "");
}

// The size of another image is known from its shape alone.
TEST(Resizing, TakesSizesThatAreKnown) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        shape(Input=like) -> (Out=dims)
        slice(Input=dims) -> (Out=size) {axes=[0], starts=[2], ends=[4]}
        nearest_interp_v2(X=x, OutSize=size) -> (Out=a) {align_corners=false}
        fill_constant() -> (Out=h) {shape=[1L], dtype=2, value=5.0}
        fill_constant() -> (Out=w) {shape=[1L], dtype=2, value=6.0}
        bilinear_interp_v2(X=x, SizeTensor=[h, w]) -> (Out=b) {align_corners=false}
        fill_constant() -> (Out=s) {shape=[1L], dtype=5, value=2.5}
        bicubic_interp_v2(X=x, Scale=s) -> (Out=c) {align_corners=false}
      })",
                          Drawn("x", {1, 2, 3, 4}) + Drawn("like", {1, 1, 6, 7})),
            "");
}

TEST(Resizing, MovesIntegers) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        nearest_interp_v2(X=x) -> (Out=a) {scale=[2.0, 2.0], align_corners=false}
        nearest_interp_v2(X=i) -> (Out=b) {scale=[2.0, 2.0], align_corners=false}
      })",
                          "x i8[1,2,1,3] 1 -2 3 -128 127 0\ni i64[1,1,1,2] 5 -6\n", 0),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
