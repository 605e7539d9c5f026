// Ops that join, cut and repeat tensors, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

// What a convolution writes lies channels last: it is joined, cut, summed and turned as it lies.
TEST(Images, AreJoinedAndCutAsTheyLie) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        concat(X=[y, x, y]) -> (Out=joined) {axis=1}
        concat_grad(X=[y, x, y], Out@GRAD=joined) -> (X@GRAD=[da, db, dc]) {axis=-3}
        concat(X=[y, y]) -> (Out=higher) {axis=2}
        split(X=y) -> (Out=[s0, s1]) {axis=1, sections=[2, -1]}
        split(X=y) -> (Out=[h0, h1]) {axis=3, num=2}
        slice(Input=y) -> (Out=cut) {axes=[1, 3], starts=[-4, 1], ends=[100, 3]}
        slice_grad(Input=y, Out@GRAD=cut) -> (Input@GRAD=dy) {
          axes=[1, 3], starts=[-4, 1], ends=[100, 3]}
        stack(X=[y, y]) -> (Y=stacked) {axis=-1}
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {5, 3, 1, 1})),
            "");
}

TEST(Repetition, IsThatOfTheAttributes) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        expand(X=x) -> (Out=a) {expand_times=[3, 1, 2]}
        tile(X=x) -> (Out=b) {repeat_times=[2, 1, 1, 3]}
        expand_v2(X=x) -> (Out=c) {shape=[4, -1, 3, 2]}
        expand_as_v2(X=x) -> (Out=d) {target_shape=[2, 3, 2]}
        unstack(X=x) -> (Y=[e, f, g]) {axis=1, num=3}
      })",
                          Drawn("x", {1, 3, 2}), 0),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
