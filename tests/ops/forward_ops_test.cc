#include "ops/forward_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

TEST(ForwardTypeOf, IsTheLongestTypeThatIsKnown) {
  EXPECT_EQ(ForwardTypeOf("conv2d_grad"), "conv2d");
  EXPECT_EQ(ForwardTypeOf("conv2d_grad_grad_grad"), "conv2d");
  EXPECT_EQ(ForwardTypeOf("conv2d_grad_grad"), "conv2d");
  EXPECT_EQ(ForwardTypeOf("my_op_grad"), "my_op");
  EXPECT_EQ(ForwardTypeOf("my_op_grad_grad"), "my_op");
  EXPECT_EQ(ForwardTypeOf("my_op"), "");
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

TEST(IsForward, AsksTheRoleAndTheType) {
  const Program program = ParsedProgram(R"(
    relu(X=x) -> (Out=y)
    relu(X=x) -> (Out=y) {op_role=256}
    relu(X=x) -> (Out=y) {op_role=1}
    relu(X=x) -> (Out=y) {op_role=2}
    relu(X=x) -> (Out=y) {op_role=16}
    relu_grad(Out=y) -> (X@GRAD=z)
  )");
  std::vector<bool> forward;
  for (const Op& op : program.block(0).ops()) forward.push_back(IsForward(op));
  EXPECT_THAT(forward, testing::ElementsAre(true, true, false, false, false, false));
}

}  // namespace
}  // namespace fixpoint
