// The scale of a loss on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(UpdateLossScaling, HasCountersThatStayAtTheLargestNumber) {
  for (const char* found : {"f bool[1] 0\n", "f bool[1] 1\n"}) {
    EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var x f32[1]
        update_loss_scaling(X=[x], FoundInfinite=f, PrevLossScaling=s, InGoodSteps=g, InBadSteps=h) -> (
          Out=[out], LossScaling=scale, OutGoodSteps=good, OutBadSteps=bad) {
          incr_every_n_steps=2, decr_every_n_nan_or_inf=2, incr_ratio=2.0, decr_ratio=0.5}
      })",
                            std::string("x f32[1] 3\ns f32[1] 8\ng i32[1] 2147483647\n"
                                        "h i32[1] 2147483647\n") +
                                found,
                            /*tolerance=*/0),
              "")
        << found;
  }
}

}  // namespace
}  // namespace fixpoint::executor
