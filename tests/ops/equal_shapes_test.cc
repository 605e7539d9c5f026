// Which sums add tensors of one shape, where the program does not declare all dimensions.

#include "ops/equal_shapes.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "ops/op_traits.h"
#include "proto/program/program.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

// Of the last sum.
bool AreEqual(const std::string& ops) {
  const Program program =
      ProgramFromText(absl::StrCat("program version=2006002\nblock 0 {\n", ops, "\n}\n"));
  bool are_equal = false;
  for (const Op& op : program.block(0).ops()) {
    if (TraitsOf(op).sum) are_equal = HaveEqualShapes(op, Era::kPaddle2);
  }
  return are_equal;
}

constexpr char kSequences[] = R"(
    var w f32[8,8] persistable
    var b f32[8] persistable
    var x f32[-1,-1,8]
    var n f32[-1,-1,8]
    var p f32[-1,-1,8]
    var q f32[-1,-1,8]
    var s f32[-1,-1,8]
    )";

TEST(EqualShapes, LengthIsPassedOnAroundABlock) {
  EXPECT_TRUE(AreEqual(absl::StrCat(kSequences, R"(
    layer_norm(X=x, Scale=b, Bias=b) -> (Y=n, Mean=mean, Variance=variance) {begin_norm_axis=2}
    matmul_v2(X=n, Y=w) -> (Out=p)
    elementwise_add(X=p, Y=b) -> (Out=q) {axis=2}
    elementwise_add(X=x, Y=q) -> (Out=s))")));
}

TEST(EqualShapes, LengthIsPassedOnThroughAttention) {
  const std::string heads = absl::StrCat(kSequences, R"(
    var h f32[-1,-1,2,4]
    var t f32[-1,2,-1,4]
    var a f32[-1,2,-1,-1]
    var a2 f32[-1,2,-1,-1]
    var c f32[-1,2,-1,4]
    var d f32[-1,-1,2,4]
    reshape(X=x) -> (Out=h) {shape=[0, -1, 2, 4]}
    transpose(X=h) -> (Out=t) {axis=[0, 2, 1, 3]}
    matmul_v2(X=t, Y=t) -> (Out=a) {trans_y=true}
    softmax(X=a) -> (Out=a2)
    )");
  const std::string back = R"(
    transpose(X=c) -> (Out=d) {axis=[0, 2, 1, 3]}
    reshape(X=d) -> (Out=p) {shape=[0, -1, 8]}
    elementwise_add(X=p, Y=x) -> (Out=s))";
  EXPECT_TRUE(AreEqual(absl::StrCat(heads, "matmul_v2(X=a2, Y=t) -> (Out=c)", back)));
  // Not known to have as many rows as the sequence.
  EXPECT_FALSE(AreEqual(absl::StrCat(heads, R"(
    var k f32[-1,2,-1,-1]
    matmul_v2(X=k, Y=t) -> (Out=c))",
                                     back)));
}

TEST(EqualShapes, LengthsOfTwoSequencesAreNotOne) {
  EXPECT_FALSE(AreEqual(absl::StrCat(kSequences, "elementwise_add(X=x, Y=n) -> (Out=s)")));
}

// One of the lengths may be 1.
// integer_add, to which the first sum is lowered, passes the length on in any case.
TEST(EqualShapes, SumOfEqualShapesPassesTheLengthOn) {
  EXPECT_TRUE(AreEqual(absl::StrCat(kSequences, R"(
    var v f32[-1,-1,8]
    matmul_v2(X=x, Y=w) -> (Out=p)
    elementwise_add(X=x, Y=p) -> (Out=s)
    relu(X=p) -> (Out=q)
    elementwise_add(X=q, Y=s) -> (Out=v))")));
}

TEST(EqualShapes, SumMayHaveTheLengthOfEitherInput) {
  EXPECT_FALSE(AreEqual(absl::StrCat(kSequences, R"(
    elementwise_add(X=x, Y=n) -> (Out=p)
    elementwise_add(X=x, Y=p) -> (Out=s))")));
}

TEST(EqualShapes, SizeIsPassedOnByWindowsThatKeepIt) {
  const std::string images = R"(
    var k f32[4,4,3,3] persistable
    var x f32[-1,4,-1,-1]
    var y f32[-1,4,-1,-1]
    var s f32[-1,4,-1,-1]
    )";
  EXPECT_TRUE(AreEqual(absl::StrCat(images, R"(
    conv2d(Input=x, Filter=k) -> (Output=y) {paddings=[1, 1]}
    elementwise_add(X=y, Y=x) -> (Out=s))")));
  EXPECT_FALSE(AreEqual(absl::StrCat(images, R"(
    conv2d(Input=x, Filter=k) -> (Output=y)
    elementwise_add(X=y, Y=x) -> (Out=s))")));
  EXPECT_FALSE(AreEqual(absl::StrCat(images, R"(
    conv2d(Input=x, Filter=k) -> (Output=y) {paddings=[1, 1], strides=[2, 2]}
    elementwise_add(X=y, Y=x) -> (Out=s))")));
}

TEST(EqualShapes, FirstDimensionIsThatOfSamples) {
  const std::string rows = R"(
    var x f32[-1,4]
    var y f32[-1,4]
    var s f32[-1,4]
    )";
  EXPECT_TRUE(AreEqual(absl::StrCat(rows, "elementwise_add(X=x, Y=y) -> (Out=s)")));
}

}  // namespace
}  // namespace fixpoint
