// Ops that pad, slice with steps, and pick by indices, on the executor and on the reference
// interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

std::string Block(const std::string& ops) {
  return absl::StrCat("program version=2006002\nblock 0 {\n", ops, "\n}");
}

TEST(Padding, IsThatOfTheInterpreter) {
  for (const std::string mode : {"constant", "reflect", "edge", "circular"}) {
    const std::string attrs = absl::StrCat("paddings=[1, 2, 0, 3], mode=\"", mode, "\"");
    EXPECT_EQ(OpDifferences(
                  Block(absl::StrCat("pad2d(X=x) -> (Out=y) {pad_value=0.5, ", attrs, "}\n",
                                     "pad2d_grad(X=x, Out@GRAD=y) -> (X@GRAD=dx) {", attrs, "}\n",
                                     "pad2d(X=x) -> (Out=z) {data_format=\"NHWC\", ", attrs, "}\n",
                                     "pad2d_grad(X=x, Out@GRAD=z) -> (X@GRAD=dz) {",
                                     "data_format=\"NHWC\", ", attrs, "}")),
                  Drawn("x", {2, 4, 5, 6})),
              "")
        << mode;
  }
  for (const std::string mode : {"constant", "reflect", "replicate", "circular"}) {
    const std::string attrs = absl::StrCat("paddings=[1, 2, 0, 3, 1, 1], mode=\"", mode, "\"");
    EXPECT_EQ(OpDifferences(
                  Block(absl::StrCat("pad3d(X=x) -> (Out=y) {value=0.5, ", attrs, "}\n",
                                     "pad3d_grad(X=x, Out@GRAD=y) -> (X@GRAD=dx) {", attrs, "}")),
                  Drawn("x", {2, 2, 3, 4, 5})),
              "")
        << mode;
  }
  EXPECT_EQ(
      OpDifferences(Block("pad(X=x) -> (Out=y) {paddings=[1, 0, 0, 2, 3, 0], pad_value=2.0}\n"
                          "pad_grad(Out@GRAD=y) -> (X@GRAD=dx) {paddings=[1, 0, 0, 2, 3, 0]}\n"
                          "pad(X=i) -> (Out=j) {paddings=[1, 1], pad_value=-7.0}"),
                    Drawn("x", {2, 3, 4}) + "i i32[3] 1 2 3\n"),
      "");
}

// What a convolution writes lies channels last.
TEST(Padding, TakesImagesAsTheyLie) {
  EXPECT_EQ(OpDifferences(Block("conv2d(Input=x, Filter=w) -> (Output=y)\n"
                                "pad2d(X=y) -> (Out=z) {paddings=[1, 0, 2, 1], mode=\"reflect\"}\n"
                                "nearest_interp(X=y) -> (Out=n) {out_h=7, out_w=9}\n"
                                "flip(X=y) -> (Out=f) {axis=[3]}"),
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {5, 3, 1, 1})),
            "");
}

TEST(Slicing, IsThatOfTheInterpreter) {
  EXPECT_EQ(OpDifferences(Block(R"(
        strided_slice(Input=x) -> (Out=a) {
          axes=[0, 2], starts=[6, 1], ends=[-1, 9], strides=[-2, 3]}
        strided_slice_grad(Input=x, Out@GRAD=a) -> (Input@GRAD=da) {
          axes=[0, 2], starts=[6, 1], ends=[-1, 9], strides=[-2, 3]}
        strided_slice(Input=x) -> (Out=b) {
          axes=[1], starts=[2], ends=[3], strides=[1000000], decrease_axis=[1]}
        flip(X=x) -> (Out=c) {axis=[0, -1]}
        roll(X=x) -> (Out=d) {shifts=[2L, -9L], axis=[1L, 2L]}
        roll_grad(X=x, Out@GRAD=d) -> (X@GRAD=dd) {shifts=[2L, -9L], axis=[1L, 2L]}
        roll(X=x) -> (Out=e) {shifts=[-5L]}
        roll_grad(X=x, Out@GRAD=e) -> (X@GRAD=de) {shifts=[-5L]}
        roll(X=x) -> (Out=f) {shifts=[2L, 2L], axis=[0L, 0L]})"),
                          Drawn("x", {7, 3, 10}), 0),
            "");
}

TEST(SetValue, IsThatOfTheInterpreter) {
  EXPECT_EQ(OpDifferences(Block(R"(
        set_value(Input=x, ValueTensor=v) -> (Out=a) {
          axes=[0L, 2L], starts=[1L, 4L], ends=[3L, 0L], steps=[1L, -2L]}
        set_value_grad(ValueTensor=v, Out@GRAD=a) -> (Input@GRAD=da, ValueTensor@GRAD=dv) {
          axes=[0L, 2L], starts=[1L, 4L], ends=[3L, 0L], steps=[1L, -2L]}
        set_value(Input=x, ValueTensor=w, StartsTensorList=[s], EndsTensorList=[e]) -> (Out=b) {
          axes=[1L], steps=[1L], decrease_axes=[1L]}
        set_value_grad(ValueTensor=w, StartsTensorList=[s], EndsTensorList=[e],
          Out@GRAD=b) -> (Input@GRAD=db, ValueTensor@GRAD=dw) {
            axes=[1L], steps=[1L], decrease_axes=[1L]}
        set_value(Input=x) -> (Out=c) {
          axes=[0L], starts=[0L], ends=[1L], steps=[1L], shape=[1L], fp32_values=[2.5]}
        set_value(Input=x, ValueTensor=x) -> (Out=d) {
          axes=[0L], starts=[2L], ends=[-4L], steps=[-1L]})"),
                          absl::StrCat(Drawn("x", {3, 4, 5}), Drawn("v", {2, 1, 2}),
                                       Drawn("w", {3, 5}), "s i64[1] 2\ne i32[1] 3\n")),
            "");
}

TEST(Gathering, IsThatOfTheInterpreter) {
  EXPECT_EQ(OpDifferences(Block(R"(
        gather(X=x, Index=i) -> (Out=a) {axis=1}
        gather_grad(X=x, Index=i, Out@GRAD=a) -> (X@GRAD=da) {axis=1}
        index_select(X=x, Index=i) -> (Out=b) {dim=-1}
        index_select_grad(X=x, Index=i, Out@GRAD=b) -> (X@GRAD=db) {dim=-1}
        gather_nd(X=x, Index=n) -> (Out=c)
        gather_nd_grad(X=x, Index=n, Out@GRAD=c) -> (X@GRAD=dc)
        index_sample(X=m, Index=k) -> (Out=d)
        index_sample_grad(X=m, Index=k, Out@GRAD=d) -> (X@GRAD=dd)
        take_along_axis(Input=m, Index=k) -> (Result=e) {Axis=1}
        take_along_axis_grad(Input=m, Index=k, Result@GRAD=e) -> (Input@GRAD=de) {Axis=1}
        scatter_nd_add(X=x, Index=n, Updates=c) -> (Out=f)
        scatter_nd_add_grad(Index=n, Updates=c, Out@GRAD=x) -> (X@GRAD=dx, Updates@GRAD=du)
        scatter(X=m, Ids=r, Updates=m) -> (Out=g)
        scatter(X=m, Ids=r, Updates=m) -> (Out=h) {overwrite=false}
        scatter_grad(Ids=r, Updates=m, Out@GRAD=m) -> (X@GRAD=dm, Updates@GRAD=dn)
        less_than(X=m, Y=h) -> (Out=t)
        where_grad(Condition=t, X=m, Y=m, Out@GRAD=h) -> (X@GRAD=wx, Y@GRAD=wy))"),
                          absl::StrCat(Drawn("x", {3, 4, 4}), Drawn("m", {2, 3}),
                                       "i i64[3] 3 0 3\nn i32[3,2] 2 1 0 0 2 1\n"
                                       "k i64[2,4] 0 2 2 1 1 1 0 2\nr i64[2] 1 1\n")),
            "");
}

// What only moves them takes integers of any size.
TEST(Gathering, PutsAndChoosesIntegers) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        put_along_axis(Input=x, Index=i, Value=v) -> (Result=a) {Axis=1}
        put_along_axis(Input=n, Index=i, Value=m) -> (Result=b) {Axis=0}
        where(Condition=c, X=x, Y=y) -> (Out=d)
        pad(X=x) -> (Out=e) {paddings=[0, 1, 2, 0], pad_value=-3.0}
      })",
                          "x i8[2,3] 1 -2 3 -128 127 0\ny i8[2,3] 4 5 6 7 8 9\n"
                          "v i8[2,2] -7 11 -12 13\ni i64[2,2] 0 1 1 1\n"
                          "n i64[2,2] 4294967296 2 3 4\nm i64[2,2] -1 -2 -3 8589934592\n"
                          "c bool[2,3] 1 0 0 1 1 0\n",
                          0),
            "");
}

TEST(Gathering, RefusesIndicesOutside) {
  EXPECT_THAT(
      OpDifferences(Block("gather_nd(X=x, Index=i) -> (Out=y)"), "x f32[2] 1 2\ni i64[1,1] -1\n"),
      testing::ContainsRegex("executor: .*Index has -1; want 0 to 1"));
}

TEST(Bmm, IsThatOfTheInterpreter) {
  EXPECT_EQ(OpDifferences(Block("bmm(X=x, Y=y) -> (Out=o)\n"
                                "bmm_grad(X=x, Y=y, Out@GRAD=o) -> (X@GRAD=dx, Y@GRAD=dy)"),
                          Drawn("x", {3, 4, 5}) + Drawn("y", {3, 5, 6})),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
