#include "ops/never_negative.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/program.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

// Of what an op writes to a variable.
bool HoldsOf(const std::string& variable, const std::string& ops) {
  const Program program = ProgramFromText(ops);
  for (const Op& op : program.block(0).ops()) {
    for (const Argument* output : op.outputs()) {
      if (output->name() == variable) return NeverNegative().Holds(*output->value());
    }
  }
  ADD_FAILURE() << "nothing writes " << variable;
  return false;
}

TEST(NeverNegative, HoldsOfReluAndWhatKeepsItsValues) {
  const std::string ops = R"(
      var x f32[2,3,4,4]
      var z f32[2,3,4,4]
      relu(X=x) -> (Out=a)
      reshape2(X=a) -> (Out=b) {shape=[0, -1]}
      pool2d(X=a) -> (Out=c) {pooling_type="max"}
      tanh(X=a) -> (Out=d))";
  EXPECT_TRUE(HoldsOf("a", ops));
  EXPECT_TRUE(HoldsOf("b", ops));
  EXPECT_TRUE(HoldsOf("c", ops));
  EXPECT_FALSE(HoldsOf("d", ops));
}

TEST(NeverNegative, HoldsOfSumsAndAveragesWhereItHoldsOfAll) {
  const std::string ops = R"(
      var x f32[2,3,4,4]
      var z f32[2,3,4,4]
      relu(X=x) -> (Out=a)
      sigmoid(X=z) -> (Out=b)
      elementwise_add(X=a, Y=b) -> (Out=both)
      elementwise_add(X=a, Y=z) -> (Out=one)
      concat(X=[a, b, both]) -> (Out=joined)
      concat(X=[a, b, one]) -> (Out=mixed)
      pool2d(X=joined) -> (Out=mean) {pooling_type="avg"})";
  EXPECT_TRUE(HoldsOf("both", ops));
  EXPECT_FALSE(HoldsOf("one", ops));
  EXPECT_TRUE(HoldsOf("joined", ops));
  EXPECT_FALSE(HoldsOf("mixed", ops));
  EXPECT_TRUE(HoldsOf("mean", ops));
}

TEST(NeverNegative, EndsWithTheEpilogueOfASumOfCodes) {
  const std::string ops = R"(
      var x f32[2,3,4,4]
      var z f32[2,3,4,4]
      integer_mul(X=x, Y=w, Scales=s) -> (Out=a) {epilogue=["relu"], epilogue_a=[0.0], epilogue_b=[0.0]}
      integer_mul(X=x, Y=w, Scales=s) -> (Out=b) {epilogue=["relu", "add_channel"], epilogue_a=[0.0, 0.0], epilogue_b=[0.0, 0.0]}
      integer_mul(X=x, Y=w, Scales=s) -> (Out=c) {epilogue=["relu", "multiply"], epilogue_a=[0.0, 12.5], epilogue_b=[0.0, 0.0]})";
  EXPECT_TRUE(HoldsOf("a", ops));
  EXPECT_FALSE(HoldsOf("b", ops));
  EXPECT_TRUE(HoldsOf("c", ops));
}

TEST(NeverNegative, TakesNoStackForALongChain) {
  std::string ops = "var x f32[2]\nrelu(X=x) -> (Out=a0)\n";
  constexpr int kLength = 20000;
  for (int i = 0; i < kLength; ++i) {
    absl::StrAppend(&ops, "assign(X=a", i, ") -> (Out=a", i + 1, ")\n");
  }
  EXPECT_TRUE(HoldsOf(absl::StrCat("a", kLength), ops));
}

}  // namespace
}  // namespace fixpoint
