// Comparisons, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Comparisons, AreThoseOfTheInterpreter) {
  EXPECT_EQ(OpDifferences(
                R"(program version=2006002
      block 0 {
        less_than(X=x, Y=y) -> (Out=a)
        greater_equal(X=x, Y=y) -> (Out=b) {axis=0}
        equal(X=i, Y=j) -> (Out=c)
        not_equal(X=i, Y=j) -> (Out=d)
        logical_and(X=c, Y=d) -> (Out=e)
        logical_or(X=c, Y=d) -> (Out=f)
        logical_xor(X=a, Y=b) -> (Out=g)
        logical_not(X=g) -> (Out=h)
        arg_max(X=x) -> (Out=k) {axis=1L}
        arg_max(X=x) -> (Out=l) {axis=0L, keepdims=true}
        arg_max(X=x) -> (Out=narrow) {axis=1L, dtype=2}
      })",
                Drawn("x", {3, 3}) + Drawn("y", {3}) + "i i64[4] 1 2 3 4\nj i64[4] 1 0 3 5\n", 0),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
