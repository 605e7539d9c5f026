#include "ops/forward_ops.h"

#include <gtest/gtest.h>

#include <string>

namespace fixpoint {
namespace {

TEST(ForwardTypeOf, IsTheLongestTypeThatIsKnown) {
  EXPECT_EQ(ForwardTypeOf("conv2d_grad"), "conv2d");
  EXPECT_EQ(ForwardTypeOf("conv2d_grad_grad_grad"), "conv2d");
  EXPECT_EQ(ForwardTypeOf("my_op_grad_grad"), "my_op");
  // A forward op whose type ends like a gradient's.
  EXPECT_EQ(ForwardTypeOf("straight_through_estimator_grad"), "");
  EXPECT_EQ(ForwardTypeOf("straight_through_estimator_grad_grad"),
            "straight_through_estimator_grad");
  EXPECT_EQ(ForwardTypeOf("relu"), "");
  EXPECT_EQ(ForwardTypeOf("_grad"), "");
}

// Looking up the rest after each suffix would not finish.
TEST(ForwardTypeOf, TakesTimeOfTheTypesLength) {
  std::string type = "my_op";
  for (int i = 0; i < 1000000; ++i) type += "_grad";
  EXPECT_EQ(ForwardTypeOf(type), "my_op");
}

}  // namespace
}  // namespace fixpoint
