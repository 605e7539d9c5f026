#include "transpiler/report/ops_left_out.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

std::string Text(const char* program) {
  return OpsLeftOutText(FindOpsLeftOut(ParsedProgram(program)));
}

TEST(OpsLeftOut, AreByTypeAndTellOfWeights) {
  EXPECT_EQ(Text(R"(
    var x f32[-1,8]
    var slope f32[1] persistable
    var p f32[-1,8]
    var r f32[-1,8]
    var s f32[-1,8]
    prelu(X=x, Alpha=slope) -> (Out=p)
    relu(X=p) -> (Out=r)
    relu(X=r) -> (Out=s)
  )"),
            "3 ops of 2 types have no input that can be quantized: prelu (its weights stay float), "
            "relu\n");
}

TEST(OpsLeftOut, HaveNoDecisionAndAreForward) {
  EXPECT_EQ(Text(R"(
    var feed feed_minibatch persistable
    var x f32[-1,4]
    var w f32[4,4] persistable
    var y f32[-1,4]
    var r f32[-1,4]
    var r@GRAD f32[-1,4]
    var y@GRAD f32[-1,4]
    feed(X=feed) -> (Out=x) {col=0}
    mul(X=x, Y=w) -> (Out=y)
    an_op_of_somebody(X=y) -> (Out=r)
    relu_grad(Out=r, Out@GRAD=r@GRAD) -> (X@GRAD=y@GRAD) {op_role=1}
  )"),
            "1 op of 1 type has no input that can be quantized: an_op_of_somebody\n");
  EXPECT_EQ(Text("mul(X=x, Y=w) -> (Out=y)"), "");
}

}  // namespace
}  // namespace fixpoint
