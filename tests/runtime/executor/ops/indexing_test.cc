// Ops that pick and place elements, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Indexing, PicksAndPlacesElements) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        gather(X=x, Index=index) -> (Out=rows)
        gather(X=x, Index=columns) -> (Out=inner) {axis=1}
        gather(X=i, Index=columns) -> (Out=numbers) {axis=-1}
        less_than(X=x, Y=other) -> (Out=is_less)
        where(Condition=is_less, X=x, Y=other) -> (Out=smaller)
        one_hot(X=columns, depth_tensor=[]) -> (Out=hot) {depth=4}
        one_hot_v2(X=index, depth_tensor=[]) -> (Out=some) {
          depth=2, dtype=3, allow_out_of_range=true}
        argsort(X=x) -> (Out=sorted, Indices=places) {axis=1}
        argsort(X=x) -> (Out=falling, Indices=from) {axis=-1, descending=true}
        is_empty(X=x) -> (Out=has_none)
      })",
                          Drawn("x", {3, 4, 2}) + Drawn("other", {3, 4, 2}) +
                              "i i64[2,4] 5 6 7 8 9 10 11 12\nindex i64[3] 2 0 2\n"
                              "columns i64[2,1] 3 1\n"),
            "");
}

TEST(Indexing, RefusesWhatIsNoPlace) {
  EXPECT_THAT(OpDifferences("gather(X=x, Index=i) -> (Out=y)", "x f32[2] 1 2\ni i64[1] 2\n"),
              testing::HasSubstr("executor: block 0, op 0 (gather): Index has 2; want 0 to 1"));
  EXPECT_THAT(
      OpDifferences("one_hot_v2(X=i, depth_tensor=[]) -> (Out=y) {depth=2}", "i i64[1] -1\n"),
      testing::HasSubstr("executor: block 0, op 0 (one_hot_v2): X has -1; want 0 to 1"));
}

}  // namespace
}  // namespace fixpoint::executor
