#include "proto/text/program_dot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Dot(absl::string_view text, const DotOptions& options = {}) {
  auto desc = ParseProgramText(text, "program.txt");
  EXPECT_TRUE(desc.ok()) << desc.status();
  const auto program = Program::Create(*std::move(desc), "program.txt");
  EXPECT_TRUE(program.ok()) << program.status();
  return PrintDot(*program, options);
}

TEST(ProgramDot, OpsAreBoxesAndValuesEllipsesAndParametersNotes) {
  EXPECT_EQ(Dot(R"(
              var x f32[-1,3]
              var w f32[3,4] persistable
              fake_quantize_abs_max(X=x) -> (Out=x.q)
              mul(X=x.q, Y=w) -> (Out=y)
            )"),
            R"(digraph program {
  node [fontname="Helvetica", fontsize=10];
  edge [fontname="Helvetica", fontsize=8];
  subgraph cluster_block0 {
    label="block 0";
    value0 [label="x\nf32[-1,3]", shape=ellipse];
    value1 [label="x.q", shape=ellipse];
    value2 [label="w\nf32[3,4]", shape=note, style=filled, fillcolor="#dde6f3"];
    value3 [label="y", shape=ellipse];
    op0_0 [label="fake_quantize_abs_max\nop 0", shape=box, style=filled, fillcolor="#ffd28a"];
    op0_1 [label="mul\nop 1", shape=box];
  }
  value0 -> op0_0 [label="X"];
  op0_0 -> value1 [label="Out"];
  value1 -> op0_1 [label="X"];
  value2 -> op0_1 [label="Y"];
  op0_1 -> value3 [label="Out"];
}
)");
}

TEST(ProgramDot, AVariableThatIsWrittenInPlaceIsTwoValues) {
  const std::string dot = Dot("relu(X=x) -> (Out=x)\n");
  EXPECT_THAT(dot, HasSubstr("value0 -> op0_0"));
  EXPECT_THAT(dot, HasSubstr("op0_0 -> value1"));
}

TEST(ProgramDot, ABlockIsAClusterInTheClusterOfItsParent) {
  EXPECT_EQ(Dot(R"(program
block 0 {
  while(X=n) {sub_block=block(1)}
}
block 1 parent=0 {
  increment(X=n) -> (Out=n)
}
)"),
            R"(digraph program {
  node [fontname="Helvetica", fontsize=10];
  edge [fontname="Helvetica", fontsize=8];
  subgraph cluster_block0 {
    label="block 0";
    value0 [label="n", shape=ellipse];
    op0_0 [label="while\nop 0", shape=box];
    subgraph cluster_block1 {
      label="block 1";
      value1 [label="n", shape=ellipse];
      value2 [label="n", shape=ellipse];
      op1_0 [label="increment\nop 0", shape=box];
    }
  }
  value0 -> op0_0 [label="X"];
  op0_0 -> op1_0 [style=dashed, label="runs block 1"];
  value1 -> op1_0 [label="X"];
  op1_0 -> value2 [label="Out"];
  value0 -> value1 [style=dashed];
  value2 -> value1 [style=dashed];
}
)");
}

constexpr char kTraining[] = R"(
  mul(X=x, Y=w) -> (Out=y) {op_role=0}
  mul_grad(X=x, Y=w) -> ("Y@GRAD"=w@GRAD) {op_role=1}
  scale(X=lr) -> (Out=rate) {op_role=16}
  sgd(Param=w, Grad=w@GRAD, LearningRate=rate) -> (ParamOut=w) {op_role=2}
)";

TEST(ProgramDot, BackwardAndOptimizerOpsAreLeftOutWhenAsked) {
  DotOptions options;
  options.backward_ops = false;
  EXPECT_THAT(Dot(kTraining, options), Not(HasSubstr("mul_grad")));
  EXPECT_THAT(Dot(kTraining, options), HasSubstr("sgd"));
  options.optimizer_ops = false;
  const std::string forward = Dot(kTraining, options);
  EXPECT_THAT(forward, HasSubstr("op0_0 [label=\"mul\\nop 0\""));
  EXPECT_THAT(forward, Not(HasSubstr("sgd")));
  EXPECT_THAT(forward, Not(HasSubstr("scale")));
  EXPECT_THAT(forward, Not(HasSubstr("rate")));
}

TEST(ProgramDot, AnyNameIsEscaped) {
  const std::string dot = Dot("\"a\\\"; } \\\\\"(\"slot\\n\"=\"x\\xff\") -> (Out=y)\n");
  EXPECT_THAT(dot, HasSubstr(R"([label="\"a\\\"; } \\\\\"\nop 0", shape=box])"));
  for (char c : dot) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(ProgramDot, TheEmptyArgumentIsNoValue) {
  EXPECT_THAT(Dot("relu_grad(X=x) -> (\"X@GRAD\"=@EMPTY@)\n"), Not(HasSubstr("EMPTY")));
}

}  // namespace
}  // namespace fixpoint
