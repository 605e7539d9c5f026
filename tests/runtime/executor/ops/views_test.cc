// Ops that give the same elements other dimensions, on the executor and on the reference
// interpreter.

#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Views, KeepTheElements) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        reshape2(X=x) -> (Out=a, XShape=a_shape) {shape=[0, -1]}
        reshape2_grad(XShape=a_shape, Out@GRAD=a) -> (X@GRAD=b)
        flatten_contiguous_range(X=b) -> (Out=c, XShape=c_shape) {start_axis=1, stop_axis=2}
        unsqueeze2(X=c) -> (Out=d, XShape=d_shape) {axes=[1]}
        squeeze2(X=d) -> (Out=e, XShape=e_shape) {axes=[1]}
        assign(X=e) -> (Out=f)
      })",
                          Drawn("x", {2, 3, 4}), 0, {"a", "b", "c", "d", "e", "f"}),
            "");
}

// A plan holds no copy of them, so that their dimensions are not those of any memory.
TEST(Views, OfWhatIsFedHaveTheirOwnDimensions) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        reshape2(X=x) -> (Out=y, XShape=x_shape) {shape=[4, -1]}
      })",
                          Drawn("x", {2, 3, 4}), 0, {"y"}),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
