// Reductions and running sums, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Images, AreReducedAsTheyLie) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        reduce_mean(X=y) -> (Out=pooled) {dim=[2, 3]}
        reduce_mean_grad(X=y, Out@GRAD=pooled) -> (X@GRAD=d_pooled) {dim=[2, 3]}
        reduce_sum(X=y) -> (Out=channels) {dim=[1]}
        reduce_max(X=y) -> (Out=columns) {dim=[2], keep_dim=true}
        reduce_min(X=y) -> (Out=rows) {dim=[-1]}
        reduce_sum(X=y) -> (Out=kept) {dim=[0, 2], keep_dim=true}
        reduce_sum_grad(X=y, Out@GRAD=kept) -> (X@GRAD=d_kept) {dim=[0, 2], keep_dim=true}
        reduce_sum(X=y) -> (Out=all) {reduce_all=true}
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1})),
            "");
}

TEST(Reductions, OfLogicAndProductsAndRunningSums) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        reduce_prod(X=x) -> (Out=product) {dim=[1]}
        reduce_prod(X=x) -> (Out=all) {reduce_all=true}
        less_than(X=x, Y=zero) -> (Out=negative)
        reduce_all(X=negative) -> (Out=rows_all) {dim=[2]}
        reduce_any(X=negative) -> (Out=rows_any) {dim=[0, 2], keep_dim=true}
        reduce_any(X=negative) -> (Out=any) {reduce_all=true}
        cumsum(X=x) -> (Out=a)
        cumsum(X=x) -> (Out=b) {axis=1, exclusive=true}
        cumsum(X=x) -> (Out=c) {axis=0, reverse=true}
        cumsum(X=x) -> (Out=d) {flatten=true, exclusive=true, reverse=true}
      })",
                          Drawn("x", {3, 4, 2}) + "zero f32[1] 0\n"),
            "");
}

// A row of no numbers has a norm too.
TEST(CosSim, KnowsTheNormsOfEmptyRows) {
  EXPECT_EQ(OpDifferences(R"(program version=1008005
    block 0 {
      var x f32[2,0]
      var y f32[2,0]
      cos_sim(X=x, Y=y) -> (Out=out, XNorm=a, YNorm=b)
    })",
                          "x f32[2,0] \ny f32[2,0] \n", 0, {"a", "b"}),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
