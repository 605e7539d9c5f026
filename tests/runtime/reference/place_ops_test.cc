// Ops that resize images, pad, slice with steps, and pick by indices, worked by hand or observed in
// the reference.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

std::string Resize(const std::string& op, const std::string& attrs, const std::string& x) {
  return RunOps(absl::StrCat(op, "(X=x) -> (Out=y) {", attrs, "}"), "x " + x + "\n");
}

constexpr char kRow[] = "f32[1,1,1,4] 0 1 2 3";

TEST(Resizing, NearestTakesWhatIsBeforeOrIsNearer) {
  EXPECT_EQ(Resize("nearest_interp_v2", "scale=[1.0, 2.0], align_corners=false", kRow),
            "y f32[1,1,1,8] 0 0 1 1 2 2 3 3\n");
  // 8 places between the corners: int(k * 3 / 7 + 0.5).
  EXPECT_EQ(Resize("nearest_interp", "out_h=1, out_w=8", kRow), "y f32[1,1,1,8] 0 0 1 1 2 2 3 3\n");
  EXPECT_EQ(Resize("nearest_interp", "out_h=1, out_w=3", kRow), "y f32[1,1,1,3] 0 2 3\n");
}

TEST(Resizing, BilinearGoesFromCornersOrFromCentres) {
  EXPECT_EQ(Resize("bilinear_interp", "out_h=1, out_w=8, align_corners=false, align_mode=0", kRow),
            "y f32[1,1,1,8] 0 0.25 0.75 1.25 1.75 2.25 2.75 3\n");
  EXPECT_EQ(Resize("bilinear_interp", "out_h=1, out_w=8, align_corners=false", kRow),
            "y f32[1,1,1,8] 0 0.5 1 1.5 2 2.5 3 3\n");
  EXPECT_EQ(Resize("bilinear_interp", "out_h=1, out_w=7", kRow),
            "y f32[1,1,1,7] 0 0.5 1 1.5 2 2.5 3\n");
}

// 4 * 1.7 is 6 elements, in steps of 4 / 6 or of 1 / 1.7.
TEST(Resizing, Version2StepsByTheScale) {
  EXPECT_EQ(Resize("nearest_interp", "scale=1.7, align_corners=false", "f32[1,1,4,1] 0 1 2 3"),
            "y f32[1,1,6,1] 0 0 1 2 2 3\n");
  EXPECT_EQ(
      Resize("nearest_interp_v2", "scale=[1.7, 1.0], align_corners=false", "f32[1,1,4,1] 0 1 2 3"),
      "y f32[1,1,6,1] 0 0 1 1 2 2\n");
}

TEST(Resizing, TheFirstSourceOfSizesCounts) {
  const auto run = [](const std::string& inputs) {
    return RunOps(absl::StrCat("nearest_interp_v2(X=x", inputs,
                               ") -> (Out=y) {out_h=1, out_w=1, align_corners=false}"),
                  "x f32[1,1,1,2] 0 1\nh i32[1] 1\nw i32[1] 4\ns i32[2] 2 2\nf f32[1] 2\n");
  };
  EXPECT_EQ(run(""), "y f32[1,1,1,1] 0\n");
  EXPECT_EQ(run(", Scale=f"), "y f32[1,1,2,4] 0 0 1 1 0 0 1 1\n");
  EXPECT_EQ(run(", Scale=f, OutSize=s"), "y f32[1,1,2,2] 0 0 0 0\n");
  EXPECT_EQ(run(", Scale=f, OutSize=s, SizeTensor=[h, w]"), "y f32[1,1,1,4] 0 0 1 1\n");
}

TEST(Resizing, RefusesWhatIsOutsideOfTheImage) {
  EXPECT_EQ(RunOps("nearest_interp_v2(X=x, OutSize=s) -> (Out=y) {scale=[1.0, 1.0], "
                   "align_corners=false}",
                   "x f32[1,1,1,2] 0 1\ns i32[2] 1 3\n"),
            "block 0, op 0 (nearest_interp_v2): the output's size is 3, whose end is outside of an "
            "axis of 2 in steps of 1");
  EXPECT_EQ(
      RunOps("nearest_interp_v2(X=x, OutSize=s) -> (Out=y)", "x f32[1,1,1,2] 0 1\ns i32[2] -7 3\n"),
      "block 0, op 0 (nearest_interp_v2): the output has the size -7 on axis 0 of 2, as a tensor "
      "of sizes says; want 1 or more");
}

TEST(Padding, HasAModeForWhatIsAround) {
  const auto pad = [](const std::string& mode) {
    return RunOps(absl::StrCat("pad3d(X=x) -> (Out=y) {paddings=[2, 1, 0, 0, 0, 0], value=9.0, ",
                               "mode=\"", mode, "\"}"),
                  "x f32[1,1,1,1,3] 0 1 2\n");
  };
  EXPECT_EQ(pad("constant"), "y f32[1,1,1,1,6] 9 9 0 1 2 9\n");
  EXPECT_EQ(pad("reflect"), "y f32[1,1,1,1,6] 2 1 0 1 2 1\n");
  EXPECT_EQ(pad("replicate"), "y f32[1,1,1,1,6] 0 0 0 1 2 2\n");
  EXPECT_EQ(pad("circular"), "y f32[1,1,1,1,6] 1 2 0 1 2 0\n");
}

TEST(Padding, IsPerAxisOrOfImages) {
  EXPECT_EQ(
      RunOps("pad(X=x) -> (Out=y) {paddings=[1, 0, 0, 2], pad_value=5.0}", "x f32[1,2] 1 2\n"),
      "y f32[2,4] 5 5 5 5 1 2 5 5\n");
  EXPECT_EQ(RunOps("pad2d(X=x, Paddings=p) -> (Out=y) {paddings=[0, 0, 0, 0], mode=\"edge\"}",
                   "x f32[1,1,1,2] 1 2\np i32[4] 0 1 1 0\n"),
            "y f32[1,1,2,3] 1 1 2 1 1 2\n");
  EXPECT_EQ(RunOps("pad2d(X=x) -> (Out=y) {paddings=[-1, 0, 0, 0]}", "x f32[1,1,2,2] 1 2 3 4\n"),
            "y f32[1,1,1,2] 3 4\n");
}

TEST(Slicing, GoesInSteps) {
  const auto slice = [](int start, int end, int step) {
    return RunOps(absl::StrCat("strided_slice(Input=x) -> (Out=y) {axes=[0], starts=[", start,
                               "], ends=[", end, "], strides=[", step, "]}"),
                  "x f32[5] 0 1 2 3 4\n");
  };
  EXPECT_EQ(slice(1, 5, 2), "y f32[2] 1 3\n");
  EXPECT_EQ(slice(-2, 0, -2), "y f32[2] 3 1\n");
  EXPECT_EQ(slice(4, -1, -1), "y f32[5] 4 3 2 1 0\n");
  EXPECT_EQ(slice(100, -1, -4), "y f32[2] 4 0\n");
}

TEST(Slicing, FlipsAndRolls) {
  EXPECT_EQ(RunOps(R"(program version=2006002
      block 0 {
        flip(X=x) -> (Out=a) {axis=[-1]}
        roll(X=x) -> (Out=b) {shifts=[1L], axis=[1L]}
        roll(X=x) -> (Out=c) {shifts=[-1L]}
      })",
                   "x f32[2,3] 1 2 3 4 5 6\n"),
            "a f32[2,3] 3 2 1 6 5 4\nb f32[2,3] 3 1 2 6 4 5\nc f32[2,3] 2 3 4 5 6 1\n");
}

TEST(SetValue, ReplacesASlice) {
  const auto set = [](const std::string& value, const std::string& attrs) {
    return RunOps(absl::StrCat("program version=2006002\nblock 0 {\nset_value(Input=x", value,
                               ") -> (Out=y) {", attrs, "}\n}"),
                  "x f32[2,3] 1 2 3 4 5 6\nv f32[2] 7 8\nw f32[1] 9\ns i64[1] 1\n");
  };
  EXPECT_EQ(set(", ValueTensor=v",
                "axes=[1L], starts=[1L], ends=[2L], steps=[1L], "
                "decrease_axes=[1L]"),
            "y f32[2,3] 1 7 3 4 8 6\n");
  EXPECT_EQ(
      set(", ValueTensor=v", "axes=[0L, 1L], starts=[1L, 2L], ends=[2L, 0L], steps=[1L, -1L]"),
      "y f32[2,3] 1 2 3 4 8 7\n");
  EXPECT_EQ(set(", ValueTensor=w, StartsTensorList=[s]", "axes=[0L], ends=[2L], steps=[1L]"),
            "y f32[2,3] 1 2 3 9 9 9\n");
  EXPECT_EQ(set("", "axes=[0L], starts=[0L], ends=[1L], steps=[1L], shape=[1L], fp32_values=[5.0]"),
            "y f32[2,3] 5 5 5 4 5 6\n");
  EXPECT_EQ(set("", "axes=[0L], starts=[0L], ends=[1L], steps=[1L], shape=[1L]"),
            "block 0, op 0 (set_value): neither ValueTensor nor values gives what is set; want one "
            "of them");
  EXPECT_EQ(set(", ValueTensor=v", "axes=[0L], starts=[0L], ends=[1L], steps=[1L]"),
            "block 0, op 0 (set_value): the value is [2] and the slice [1, 3]; want one that is "
            "broadcast to it");
}

TEST(Gathering, PicksByIndices) {
  EXPECT_EQ(RunOps(R"(
    gather_nd(X=x, Index=i) -> (Out=a)
    gather_nd(X=x, Index=j) -> (Out=b)
    index_select(X=x, Index=k) -> (Out=c) {dim=1}
    index_sample(X=x, Index=l) -> (Out=d)
  )",
                   "x f32[2,3] 1 2 3 4 5 6\ni i64[1,1] 1\nj i32[2,2] 0 2 1 0\nk i64[2] 2 0\n"
                   "l i64[2,1] 1 2\n"),
            "a f32[1,3] 4 5 6\nb f32[2] 3 4\nc f32[2,2] 3 1 6 4\nd f32[2,1] 2 6\n");
  EXPECT_EQ(RunOps("gather_nd(X=x, Index=i) -> (Out=y)", "x f32[2] 1 2\ni i64[1,1] 2\n"),
            "block 0, op 0 (gather_nd): Index has 2; want 0 to 1");
}

TEST(Scattering, PlacesUpdates) {
  const auto run = [](const std::string& op) {
    return RunOps(op,
                  "x f32[3,1] 1 2 3\ni i64[3] 2 0 2\nj i64[2,1] 1 1\nu f32[3,1] 10 20 30\n"
                  "v f32[2,1] 10 20\n");
  };
  EXPECT_EQ(run("scatter(X=x, Ids=i, Updates=u) -> (Out=y)"), "y f32[3,1] 20 2 30\n");
  EXPECT_EQ(run("scatter(X=x, Ids=i, Updates=u) -> (Out=y) {overwrite=false}"),
            "y f32[3,1] 20 2 40\n");
  EXPECT_EQ(run("scatter_nd_add(X=x, Index=j, Updates=v) -> (Out=y)"), "y f32[3,1] 1 32 3\n");
}

TEST(Bmm, MultipliesMatricesOneByOne) {
  EXPECT_EQ(RunOps("bmm(X=x, Y=y) -> (Out=o)", "x f32[2,1,2] 1 2 3 4\ny f32[2,2,1] 5 6 7 8\n"),
            "o f32[2,1,1] 17 53\n");
  EXPECT_EQ(
      RunOps("bmm(X=x, Y=y) -> (Out=o)", "x f32[2,1,2] 1 2 3 4\ny f32[1,2,1] 5 6\n"),
      "block 0, op 0 (bmm): X is [2, 1, 2] and Y is [1, 2, 1]; want as many matrices in both");
}

}  // namespace
}  // namespace fixpoint::reference
