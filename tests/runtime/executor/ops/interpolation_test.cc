// Resizing of images, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

using ::testing::HasSubstr;

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

// Sizes that the program declares of Out are the largest ones.
TEST(Resizing, TakesSizesThatARunDecides) {
  const std::string ops = R"(program version=2006002
      block 0 {
        var a f32[-1,2,9,8]
        var b f32[-1,2,9,8]
        var c f32[-1,2,9,8]
        var d f32[-1,2,-1,8]
        var e f32[-1,9,8,4]
        var f f32[-1,2,9]
        var g f32[-1,1,9,8,7]
        var j i8[1,2,9,8]
        nearest_interp_v2(X=x, OutSize=size) -> (Out=a) {align_corners=false}
        bilinear_interp(X=x, OutSize=size) -> (Out=b)
        bicubic_interp_v2(X=x, SizeTensor=[h, w]) -> (Out=c) {align_corners=false}
        fill_constant() -> (Out=six) {shape=[1L], dtype=2, value=6.0}
        bilinear_interp_v2(X=x, SizeTensor=[six, w]) -> (Out=d) {align_corners=false}
        bilinear_interp_v2(X=x, Scale=scale) -> (Out=e) {align_mode=0, align_corners=false, data_layout="NHWC"}
        linear_interp_v2(X=line, OutSize=w) -> (Out=f) {align_mode=0}
        trilinear_interp_v2(X=volume, OutSize=sizes) -> (Out=g)
        nearest_interp(X=i, OutSize=size) -> (Out=j)
        shape(Input=a) -> (Out=extents)
        assign(X=b) -> (Out=assigned)
      })";
  const std::string values = Drawn("x", {2, 2, 3, 4}) + Drawn("line", {2, 2, 4}) +
                             Drawn("volume", {1, 1, 2, 3, 4}) +
                             "i i8[1,2,1,3] 1 -2 3 -128 127 0\nscale f32[1] 1.5\n";
  for (const char* sizes : {"size i32[2] 5 7\nh i32[1] 5\nw i64[1] 7\nsizes i32[3] 4 2 7\n",
                            "size i32[2] 9 8\nh i32[1] 9\nw i64[1] 8\nsizes i32[3] 9 8 7\n",
                            "size i32[2] 3 4\nh i32[1] 3\nw i64[1] 4\nsizes i32[3] 2 3 4\n",
                            "size i32[2] 1 1\nh i32[1] 1\nw i64[1] 1\nsizes i32[3] 1 1 1\n"}) {
    EXPECT_EQ(OpDifferences(ops, values + sizes), "") << sizes;
  }
}

TEST(Resizing, TakesImagesOfWhichARunDecidesHowMany) {
  for (const char* condition : {"1 0 1", "0 0 0"}) {
    EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var y f32[-1,2,9,8]
        var z f32[-1,2,9,8]
        where_index(Condition=c) -> (Out=places)
        slice(Input=places) -> (Out=row) {axes=[1], starts=[0], ends=[1], decrease_axis=[1]}
        gather(X=x, Index=row) -> (Out=some)
        bilinear_interp_v2(X=some, OutSize=size) -> (Out=y) {align_corners=false}
        nearest_interp_v2(X=some, OutSize=size) -> (Out=z) {align_corners=false}
      })",
                            absl::StrCat("c bool[3] ", condition, "\nsize i32[2] 5 7\n",
                                         Drawn("x", {3, 2, 3, 4}))),
              "")
        << condition;
  }
}

// An op that both backends run with a size of each of two axes.
std::string WithSizes(const std::string& sizes, const std::string& declared = "[1,2,9,8]") {
  return OpDifferences(absl::StrCat("program version=2006002\nblock 0 {\nvar y f32", declared,
                                    "\nbilinear_interp_v2(X=x, OutSize=size) -> (Out=y)\n}"),
                       absl::StrCat(Drawn("x", {1, 2, 3, 4}), "size ", sizes, "\n"));
}

TEST(Resizing, RefusesSizesThatTheProgramDoesNotDeclare) {
  EXPECT_EQ(WithSizes("i32[2] 9 8"), "");
  EXPECT_THAT(WithSizes("i32[2] 9 9"),
              HasSubstr("the output has the size 9 on axis 1 of 2; want at most 8, which the "
                        "program declares of Out\ninterpreter: \n"));
  EXPECT_THAT(WithSizes("i32[2] 1000 8"),
              HasSubstr("the output has the size 1000 on axis 0 of 2; want at most 9"));
  for (const char* wrong :
       {"i32[2] 0 8", "i32[2] -3 8", "i64[2] -9223372036854775808 8", "f32[2] nan 8"}) {
    EXPECT_THAT(WithSizes(wrong), HasSubstr("; want 1 or more\ninterpreter: ")) << wrong;
  }
  EXPECT_THAT(WithSizes("i32[3] 1 2 3"), HasSubstr("sizes are [1, 2, 3]; want 2 of them"));
}

TEST(Resizing, RefusesStepsOutOfTheImage) {
  const auto run = [](const std::string& op, const std::string& scale) {
    return OpDifferences(absl::StrCat("program version=2006002\nblock 0 {\nvar y f32[1,1,2,2]\n",
                                      op, ", align_corners=false}\n}"),
                         absl::StrCat("x f32[1,1,1,1] 7\ns i32[2] 2 2\nk f32[1] ", scale, "\n"));
  };
  for (const char* scale : {"0.9", "1e-18", "1e-30", "1e-40"}) {
    for (const char* op :
         {"nearest_interp_v2(X=x, OutSize=s, Scale=k) -> (Out=y) {align_mode=1",
          "bilinear_interp_v2(X=x, OutSize=s, Scale=k) -> (Out=y) {align_mode=1",
          "bilinear_interp_v2(X=x, OutSize=s, Scale=k) -> (Out=y) {align_mode=0"}) {
      const std::string differences = run(op, scale);
      constexpr char kWrong[] = "the output's size is 2, whose end is outside of an axis of 1";
      const size_t first = differences.find(kWrong);
      ASSERT_NE(first, std::string::npos) << differences;
      EXPECT_NE(differences.find(kWrong, first + 1), std::string::npos) << differences;
    }
    EXPECT_EQ(run("bicubic_interp_v2(X=x, OutSize=s, Scale=k) -> (Out=y) {align_mode=1", scale),
              "");
  }
}

TEST(Resizing, RefusesImagesWithoutPixels) {
  for (const char* op : {"nearest", "bilinear", "bicubic"}) {
    const auto run = [op](const std::string& x, const std::string& declared) {
      return OpDifferences(
          absl::StrCat("program version=2006002\nblock 0 {\nvar y f32", declared, "\n", op,
                       "_interp_v2(X=x, OutSize=s) -> (Out=y) {align_corners=false}\n}"),
          absl::StrCat("x f32", x, "\ns i32[2] 2 2\n"));
    };
    EXPECT_THAT(run("[1,2,0,3]", "[1,2,2,2]"), HasSubstr("executor: ")) << op;
    EXPECT_EQ(run("[0,2,3,3]", "[0,2,2,2]"), "") << op;
  }
}

TEST(Resizing, NamesWhatBoundsSizesThatARunDecides) {
  EXPECT_THAT(WithSizes("i32[2] 9 8", "[-1,2,-1,-1]"),
              HasSubstr("the run computes input OutSize, and Out is declared [-1, 2, -1, -1]; want "
                        "what shapes and constants decide, or Out declared with the largest size "
                        "that there can be on each axis"));
}

// Where another op needs the extents that are planned, a run with others ends.
TEST(Resizing, GivesWhatARunDecidesToOpsThatTakeIt) {
  const std::string ops = R"(program version=2006002
      block 0 {
        var y f32[1,2,9,8]
        nearest_interp_v2(X=x, OutSize=size) -> (Out=y)
        relu(X=y) -> (Out=z)
      })";
  EXPECT_EQ(OpDifferences(ops, absl::StrCat(Drawn("x", {1, 2, 3, 4}), "size i32[2] 9 7\n")), "");
  const std::string windows = R"(program version=2006002
      block 0 {
        var y f32[1,2,9,8]
        nearest_interp_v2(X=x, OutSize=size) -> (Out=y)
        pool2d(X=y) -> (Out=z) {pooling_type="max", ksize=[2, 2]}
      })";
  EXPECT_EQ(OpDifferences(windows, absl::StrCat(Drawn("x", {1, 2, 3, 4}), "size i32[2] 9 8\n")),
            "");
  EXPECT_THAT(OpDifferences(windows, absl::StrCat(Drawn("x", {1, 2, 3, 4}), "size i32[2] 9 7\n")),
              HasSubstr("an input is [1, 2, 9, 7]; want rows of [2, 9, 8]"));
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
