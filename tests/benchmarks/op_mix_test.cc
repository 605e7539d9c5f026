#include "benchmarks/op_mix.h"

#include <gtest/gtest.h>

#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

TEST(RepeatOpMix, RenamesEachRepetitionAfterTheFirst) {
  const absl::StatusOr<ProgramDesc> seed = ParseProgramText(R"(
program version=1
block 0 forward=-1 {
  var w f32[2] persistable
  mul(X=undeclared, Y=w) -> (Out=w)
  while(X=w) {sub_block=block(1)}
  sgd(Param=w) {op_role_var=["w", "w@GRAD"], name="w"}
}
block 1 parent=0 {
}
)",
                                                            "seed");
  ASSERT_TRUE(seed.ok()) << seed.status();
  EXPECT_EQ(PrintProgram(RepeatOpMix(*seed, 5)), R"(program version=1
block 0 {
  var w f32[2] persistable
  var w__1 f32[2] persistable
  var w__2 f32[2] persistable
  mul(X=undeclared, Y=w) -> (Out=w)
  sgd(Param=w) {op_role_var=["w", "w@GRAD"], name="w"}
  mul(X=undeclared, Y=w__1) -> (Out=w__1)
  sgd(Param=w__1) {op_role_var=["w__1", "w@GRAD"], name="w"}
  mul(X=undeclared, Y=w__2) -> (Out=w__2)
}
)");
}

TEST(OpMixSeed, IsAProgramThatCanBeRepeated) {
  const ProgramDesc program = RepeatOpMix(OpMixSeed(), 1000);
  EXPECT_EQ(program.blocks(0).ops_size(), 1000);
}

}  // namespace
}  // namespace fixpoint
