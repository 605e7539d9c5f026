// Sums of products along named axes, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

std::string Differences(const std::string& equation) {
  return OpDifferences(absl::StrCat(R"(program version=2006002
    block 0 {
      var x f32[2,3,4]
      var y f32[2,4,3]
      einsum(Operands=[x, y]) -> (Out=out, InnerCache=[a, b], XShape=[c, d]) {equation=")",
                                    equation, "\"}\n}"),
                       absl::StrCat(Drawn("x", {2, 3, 4}), Drawn("y", {2, 4, 3})), 1e-6, {"out"});
}

// Products of matrices, and what is none.
TEST(Einsum, IsAsOnTheInterpreter) {
  for (const char* equation : {"bij,bjk->bik", "bij,bji->b", "bij,bjk->kib", "abc,def->fabcde",
                               "bij,bkl->il", "bij,bjk->", "...ij,...jk->...ik", "bij,bjk->ik"}) {
    SCOPED_TRACE(equation);
    EXPECT_EQ(Differences(equation), "");
  }
}

TEST(Einsum, WantsAnEquationThatFits) {
  const auto error = [](const std::string& text) {
    return absl::StrCat("executor: block 0, op 0 (einsum): ", text,
                        "\ninterpreter: block 0, op 0 (einsum): ", text, "\n");
  };
  EXPECT_EQ(Differences("bij,bjk"),
            error("equation is \"bij,bjk\"; want operands, one \"->\" and a result"));
  EXPECT_EQ(Differences("bij->b"), error("equation \"bij->b\" has 1 operands; the op has 2"));
  EXPECT_EQ(Differences("bi,bjk->b"), error("equation has \"bi\" for an operand of 3 dimensions"));
  EXPECT_EQ(Differences("bij,bjk->z"),
            error("equation's result is \"z\"; want letters of operands, each of them once"));
  EXPECT_EQ(Differences("bij,bik->b"),
            error("operand 1 is [2, 4, 3], where another has 3 instead of 4"));
}

// A row of no numbers has a norm too.
TEST(CosSim, KnowsTheNormsOfEmptyRows) {
  EXPECT_EQ(OpDifferences(R"(program version=1008005
    block 0 {
      var x f32[2,0]
      var y f32[2,0]
      cos_sim(X=x, Y=y) -> (Out=out, XNorm=a, YNorm=b)
    })",
                          "x f32[2,0] \ny f32[2,0] \n", 0, {"a", "b"}),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
