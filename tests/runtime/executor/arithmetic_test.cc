// Sums and scales on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

// The gradients of the three uses of h are one buffer.
TEST(Sum, OfOneGradientThreeTimes) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        scale(X=x) -> (Out=h) {scale=2.0}
        elementwise_add(X=h, Y=h) -> (Out=a)
        elementwise_add(X=a, Y=h) -> (Out=b)
        scale(X=b) -> (Out=db) {scale=0.5}
        elementwise_add_grad(X=a, Y=h, Out@GRAD=db) -> (X@GRAD=da, Y@GRAD=dh0)
        elementwise_add_grad(X=h, Y=h, Out@GRAD=da) -> (X@GRAD=dh1, Y@GRAD=dh2)
        sum(X=[dh0, dh1, dh2]) -> (Out=dh)
      })",
                          "x f32[3] 1 2 3\n", 0, {"dh"}),
            "");
}

// An accumulator is the term that it is named as, whichever that is.
TEST(Sum, IntoOneOfItsTerms) {
  for (const std::string terms : {"[acc, a, b]", "[a, acc, b]", "[a, b, acc]", "[acc, a, acc]"}) {
    EXPECT_EQ(OpDifferences("program version=2006002\nblock 0 {\n  var acc f32[3] persistable\n"
                            "  sum(X=" +
                                terms + ") -> (Out=acc)\n}\n",
                            "a f32[3] 1 2 3\nb f32[3] 10 20 30\nacc f32[3] 100 200 300\n", 0),
              "")
        << terms;
  }
}

}  // namespace
}  // namespace fixpoint::executor
