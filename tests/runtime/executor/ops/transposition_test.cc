// Ops that change the order of elements, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "absl/strings/str_join.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

std::vector<int> Counted(int count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(Images, AreTransposedAsTheyLie) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        transpose2(X=y) -> (Out=last, XShape=s1) {axis=[0, 2, 3, 1]}
        transpose2_grad(XShape=s1, Out@GRAD=last) -> (X@GRAD=first) {axis=[0, 2, 3, 1]}
        transpose2(X=y) -> (Out=turned, XShape=s2) {axis=[3, 1, 0, 2]}
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}), 1e-5,
                          {"y", "last", "first", "turned"}),
            "");
}

TEST(Images, AreShuffledAsTheyLie) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        shuffle_channel(X=y) -> (Out=a) {group=2}
        pixel_shuffle(X=y) -> (Out=b) {upscale_factor=2}
        shuffle_channel(X=x) -> (Out=c) {group=4}
        pixel_shuffle(X=x) -> (Out=d) {upscale_factor=2}
      })",
                          Drawn("x", {2, 8, 5, 4}) + Drawn("w", {12, 8, 2, 1})),
            "");
}

TEST(PixelShuffle, OfChannelsThatLieLast) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        pixel_shuffle(X=x) -> (Out=y) {upscale_factor=2, data_format="NHWC"}
        pixel_shuffle(X=z) -> (Out=y2) {upscale_factor=2}
        transpose2(X=y2) -> (Out=y3, XShape=s) {axis=[0, 2, 3, 1]}
      })",
                          Drawn("x", {2, 3, 4, 8}) + Drawn("z", {2, 8, 3, 4})),
            "");
}

TEST(SpaceToDepth, AndItsGradient) {
  EXPECT_EQ(OpDifferences(R"(program version=1008005
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        space_to_depth(X=y) -> (Out=a) {blocksize=2L}
        space_to_depth_grad(X=y, Out@GRAD=a) -> (X@GRAD=b) {blocksize=2L}
        space_to_depth(X=codes) -> (Out=c) {blocksize=3L}
      })",
                          Drawn("x", {2, 3, 5, 6}) + Drawn("w", {8, 3, 2, 1}) +
                              "codes i32[1,9,3,3] " + absl::StrJoin(Counted(81), " ") + "\n"),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
